package import JSON
internal import NetworkTypes
package import RoamwardCore

/// The description of an installed provider: its program, its user, its needs and its options (docs/provider-protocol.md, "The manifest").
package struct ProviderManifest: Equatable, Sendable {
  /// The name by which policies call it: `installed: { name: … }`.
  package let name: String
  /// One line: what it is.
  package let about: String
  /// An absolute path.
  package let program: String
  /// The user that it runs as, never root.
  package let user: String
  package let needs: Set<ProviderProgram.Need>
  package let capability: ProviderProgram.Capability?
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

  /// The folders of installed manifests, the first one wins.
  package static let folders = ["/etc/roamward/providers", "/usr/local/lib/roamward/providers", "/usr/lib/roamward/providers"]

  /// Reads a tunnel's options, YAML or JSON, by the manifest's schema. `nil` if there are errors.
  package func readOptions(_ bytes: [UInt8], file: String) -> (options: JSON?, diagnostics: [Diagnostic]) {
    let source = SourceText(file: file, bytes: bytes)
    let (root, problems) = readYAML(source)
    var reading = Reading(source, problems: problems)
    let value = options.read(root ?? Node(content: .null, location: source.start), as: "the options of `\(name)`", &reading)
    return (reading.problems.hasErrors ? nil : value, reading.problems.sorted)
  }
}
