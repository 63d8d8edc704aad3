package import JSON

/// The output of `roamward-gateway login show --json`.
package struct WaysInDocument: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var login: Login?
  package var relayPort: Int?
  package var pages: [String]
  package var notes: [String]

  package init(login: Login?, relayPort: UInt16?, pages: [String], notes: [String]) {
    (self.login, self.relayPort, self.pages, self.notes) = (login, relayPort.map { Int($0) }, pages, notes)
  }

  private enum CodingKeys: String, DescribedKey {
    case version, login, pages, notes
    case relayPort = "relay-port"

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .login: "Where people log in; null: there are no logins."
      case .relayPort: "The TCP port at which datagrams are relayed; null: they are not."
      case .pages: "The addresses of the page in the tunnel; none: there is no page."
      case .notes: "What keeps people from one of them, in lines for a person."
      }
    }
  }

  /// The place where people log in.
  package struct Login: Hashable, Sendable, Codable {
    package var endpoint: String
    package var pin: String

    package init(endpoint: String, pin: String) { (self.endpoint, self.pin) = (endpoint, pin) }

    private enum CodingKeys: String, DescribedKey {
      case endpoint, pin

      var about: String {
        switch self {
        case .endpoint: "The host and the TCP port."
        case .pin: "The pin by which clients know the gateway."
        }
      }
    }
  }
}
