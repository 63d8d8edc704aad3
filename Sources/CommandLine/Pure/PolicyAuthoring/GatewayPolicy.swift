internal import JSON
package import NetworkTypes
package import PolicyFiles
internal import PolicySource
package import RoamwardCore

/// A tunnel to a gateway of Roamward, as its policy has it.
package struct GatewayTunnel: Equatable, Sendable {
  package let tunnel: String
  /// The policy file.
  package let path: String
  package let server: Endpoint
  /// `sha256//…`.
  package var pin: String
  package var username: String?

  /// The name of the provider's manifest.
  package static let provider = "roamward"

  package init(tunnel: String, path: String, server: Endpoint, pin: String, username: String?) {
    self.tunnel = tunnel
    self.path = path
    self.server = server
    self.pin = pin
    self.username = username
  }

  /// `nil`: the tunnel has another provider.
  private init?(_ policy: TunnelPolicy) {
    guard case .installed(let provider) = policy.provider else { return nil }
    // A policy may name the manifest by its path.
    let name = provider.program.name.split(separator: "/").last.map(String.init) ?? ""
    guard name == Self.provider || name == "\(Self.provider).yaml" else { return nil }
    guard let server = provider.options["server"]?.string.flatMap({ Endpoint($0) }), let pin = provider.options["pin"]?.string else {
      return nil
    }
    self.init(
      tunnel: policy.name, path: policy.location.file, server: server, pin: pin, username: provider.options["username"]?.string)
  }

  /// All of them, in the order of the policies.
  package static func all(in policies: PolicySet) -> [GatewayTunnel] { policies.tunnels.compactMap { GatewayTunnel($0) } }

  /// The text of its policy file with this pin and user name. All other lines stay as they are. The caller reads the result again.
  package func changed(_ text: String, pin: String, username: String?) throws(TextChangeFailure) -> String {
    var text = text
    if pin != self.pin {
      guard text.contains(self.pin) else { throw TextChangeFailure("its pin is not written there as it is") }
      text = text.replacing(self.pin, with: pin)
    }
    guard let username, username != self.username else { return text }
    guard let old = self.username else { throw TextChangeFailure("it has no `username` yet") }
    let forms = ["\(old)", "\"\(old)\"", "'\(old)'"].map { "username: \($0)" }
    for (form, end) in forms.flatMap({ form in ["\n", " ", ",", "}"].map { (form, $0) } }) {
      guard text.ranges(of: form + end).count == 1 else { continue }
      return text.replacing(form + end, with: "username: \(PolicyPrinter.key(username))\(end)")
    }
    throw TextChangeFailure("its `username` is not written there as it is")
  }
}

/// The files of a policy for a gateway of Roamward: the tunnel is up everywhere but on trusted networks.
package struct GatewayPolicy: Equatable, Sendable {
  /// Networks that `roamward trust` adds to.
  package enum TrustedNetworks: Equatable, Sendable {
    /// A policy defines them.
    case present
    /// They come in a file beside the policy.
    case new
    /// There is no place for them: the rule is a comment.
    case none
  }

  package let files: [OutputFile]

  package init(_ wanted: GatewayTunnel, trusted: TrustedNetworks) {
    let sign = trusted == .none ? "# " : ""
    let lines = [
      "# The tunnel `\(wanted.tunnel)` to a gateway, by `roamward login`. `man roamward-policy` describes every key.",
      "version: 1", "", "tunnels:", "  \(PolicyPrinter.key(wanted.tunnel)):",
      "    provider:",
      "      installed:",
      "        name: \(GatewayTunnel.provider)",
      "        options:",
      "          server: \"\(wanted.server)\"",
      "          pin: \"\(wanted.pin)\"   # as `roamward-gateway login show` prints it",
      wanted.username.map { "          username: \(PolicyPrinter.key($0))" },
      "    on-demand:",
      "      rules:                                  # the first rule that matches decides",
      "        \(sign)- name: trusted network",
      "        \(sign)  match: { network: \(NetworkText.trusted) }   # `roamward trust` adds the network that you are on",
      "        \(sign)  action: disconnect",
      "        - name: any other network",
      "          action: connect",
      "    # kill-switch: \"on\"                       # while it should be up, nothing passes outside the tunnel",
    ]
    let policy = lines.compactMap { $0.map { $0 + "\n" } }.joined()
    let networks = OutputFile(name: NetworkText.fileName, bytes: Array(NetworkText.fresh(path: "").text.utf8), isSecret: false)
    let file = OutputFile(name: "\(wanted.tunnel).yaml", bytes: Array(policy.utf8), isSecret: false)
    files = (trusted == .new ? [networks] : []) + [file]
  }

  /// Words in names of gateways that say nothing of a company.
  private static let generic: Set = [
    "vpn", "gw", "gate", "gateway", "remote", "access", "roamward", "wg", "wireguard", "www", "login", "connect", "secure",
  ]
  /// A link has the name of its tunnel, if that is short enough (IFNAMSIZ).
  private static let nameLimit = 15

  /// A name for the tunnel: the first word of the gateway's name that says something, with a number if it is `taken`.
  package static func name(for host: Endpoint.Host, isTaken: (String) -> Bool) -> String {
    var word = "vpn"
    if case .name(let name) = host {
      let labels = name.text.lowercased().split(separator: ".").map(String.init)
      let useful = labels.count > 1 ? Array(labels.dropLast()) : labels
      let telling = useful.first { !generic.contains(String($0.prefix { !$0.isNumber && $0 != "-" })) }
      word = usable(telling ?? "") ?? usable(labels.first ?? "") ?? word
    }
    if !isTaken(word) { return word }
    var number = 2
    while true {
      let suffix = "-\(number)"
      let name = word.prefix(nameLimit - suffix.utf8.count) + suffix
      if !isTaken(String(name)) { return String(name) }
      number += 1
    }
  }

  /// A name of the policy language with these letters and digits.
  private static func usable(_ label: String) -> String? {
    let isWord = { (byte: UInt8) in (97...122).contains(byte) || (48...57).contains(byte) }
    let kept = label.utf8.filter { isWord($0) || $0 == UInt8(ascii: "-") }
    var name = String(decoding: kept, as: UTF8.self).drop { $0 == "-" }.prefix(nameLimit)
    while name.hasSuffix("-") { name.removeLast() }
    return name.isEmpty ? nil : String(name)
  }
}
