package import JSON
import RoamwardCore

/// The description of an installed provider: its program, its user, its needs and its options (docs/provider-protocol.md, "The manifest").
package struct ProviderManifest: Hashable, Sendable {
  /// A kind of request of a provider. The agent refuses those that its manifest does not name.
  package enum Need: String, Hashable, Sendable, CaseIterable {
    /// The TUN device.
    case device
    /// UDP sockets to the outside.
    case udp
    /// TCP sockets to the outside.
    case tcp
    /// Addresses of names, outside.
    case resolve
    /// Questions to a person.
    case ask
  }

  /// A capability of a program that cannot do without it, as in capabilities(7). It is named in `status` and docs/security.md.
  package enum Capability: String, Hashable, Sendable, CaseIterable {
    /// CAP_NET_ADMIN: it configures links and IPsec itself.
    case netAdmin = "net-admin"
    /// CAP_NET_RAW: it opens raw sockets.
    case netRaw = "net-raw"
    /// CAP_NET_BIND_SERVICE: it uses ports below 1024.
    case netBindService = "net-bind-service"
  }

  /// The value of `provider` in policies.
  package let name: String
  /// One line: what it is.
  package let about: String
  /// An absolute path.
  package let program: String
  /// The user that it runs as, never root.
  package let user: String
  package let needs: Set<Need>
  package let capability: Capability?
  /// Whether a policy has to say `insecure: accept`.
  package let isInsecure: Bool
  /// The options of a tunnel, always of the kind `object`.
  package let options: OptionSchema

  /// Reads a manifest, YAML or JSON. `nil` if there are errors.
  package static func read(_ bytes: [UInt8], file: String) -> (manifest: ProviderManifest?, diagnostics: [Diagnostic]) {
    let source = SourceText(file: file, bytes: bytes)
    let (root, problems) = readYAML(source)
    var reading = Reading(source, problems: problems)
    guard let root else {
      if !reading.problems.hasErrors { reading.error("the manifest is empty", help: "it needs `name`, `program` …", at: source.start) }
      return (nil, reading.problems.sorted)
    }
    let manifest = readManifest(root, &reading)
    return (reading.problems.hasErrors ? nil : manifest, reading.problems.sorted)
  }

  /// Reads a tunnel's options, YAML or JSON, by the manifest's schema. `nil` if there are errors.
  package func readOptions(_ bytes: [UInt8], file: String) -> (options: JSON?, diagnostics: [Diagnostic]) {
    let source = SourceText(file: file, bytes: bytes)
    let (root, problems) = readYAML(source)
    var reading = Reading(source, problems: problems)
    let value = options.read(root ?? Node(content: .null, location: source.start), as: "the options of `\(name)`", &reading)
    return (reading.problems.hasErrors ? nil : value, reading.problems.sorted)
  }
}
