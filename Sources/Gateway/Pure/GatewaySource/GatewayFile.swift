package import GatewayCore
package import GatewayLogin
package import NetworkTypes

/// The files of a gateway as one value: what the store is to have, the settings of this gateway alone, and the tests of access.
package struct GatewayFile: Hashable, Sendable {
  package var declaration = Declaration()
  package var host = HostSettings()
  package var expectations: [Declaration.Placed<Expectation>] = []

  package init() {}
}

/// Settings of one gateway that are not in the store.
package struct HostSettings: Hashable, Sendable {
  /// Whether users log in; `nil`: not declared.
  package var logins: Declaration.Placed<Bool>?
  /// The texts of the settings that are declared, as their files have them; a text of `nil`: it is off.
  package var texts: [SettingFile: Declaration.Placed<String?>] = [:]

  package init() {}

  /// The declared settings, in a fixed order.
  package var ordered: [(setting: SettingFile, text: Declaration.Placed<String?>)] {
    SettingFile.allCases.compactMap { setting in texts[setting].map { (setting, $0) } }
  }

  package var openID: OpenIDSettings? { texts[.openID]?.value.flatMap { try? OpenIDSettings(parsing: $0) } }
  package var pam: PAMSettings? { texts[.pam]?.value.flatMap { try? PAMSettings(parsing: $0) } }
  package var page: PageSettings? { texts[.page]?.value.flatMap { PageSettings($0) } }
}

/// A test of access: `alice → 10.20.0.5:443 allowed`.
package struct Expectation: Hashable, Sendable, LosslessStringConvertible {
  package let user: GatewayName
  package let destination: IPAddress
  package let transport: Transport
  package let port: UInt16?
  package let isAllowed: Bool

  package init?(_ text: String) {
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard words.count == 4 || words.count == 5, words[1] == "→" || words[1] == "->", let user = GatewayName(words[0]) else { return nil }
    if let address = IPAddress(words[2]) {
      (destination, port) = (address, nil)
    } else if let endpoint = Endpoint(words[2]), let address = endpoint.address {
      (destination, port) = (address, endpoint.port)
    } else {
      return nil
    }
    let isTransport = words.count == 5
    guard let transport = isTransport ? Transport(rawValue: words[3]) : port == nil ? .icmp : .tcp, transport != .any,
      transport.hasPorts == (port != nil)
    else { return nil }
    switch words[words.count - 1] {
    case "allowed": isAllowed = true
    case "denied": isAllowed = false
    default: return nil
    }
    self.user = user
    self.transport = transport
  }

  package var description: String {
    let target = port.map { destination.family == .v4 ? "\(destination):\($0)" : "[\(destination)]:\($0)" } ?? "\(destination)"
    let usual: Transport = port == nil ? .icmp : .tcp
    return "\(user) → \(target)\(transport == usual ? "" : " \(transport.rawValue)") \(isAllowed ? "allowed" : "denied")"
  }

  /// The fault of a directory in which it does not hold; `nil`: it holds.
  package func fault(in directory: Directory) -> GatewayError? {
    guard let found = directory.user(named: user) else { return .noUser(user) }
    let question = AccessQuestion(user: found.id, destination: destination, transport: transport, port: port)
    let decision = AccessDecision(question, in: directory)
    if decision.isAllowed == isAllowed { return nil }
    return GatewayError("expected \(self), found \(decision.text(in: directory))", help: "change the rules of access, or what is expected")
  }
}
