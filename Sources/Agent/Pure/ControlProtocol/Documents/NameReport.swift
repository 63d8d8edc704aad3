package import JSON

/// The output of `roamward dns --json`: the servers that a question for a name is sent to.
package struct NameReport: Hashable, Sendable, Codable {
  package var version: DocumentVersion = DocumentVersion()
  package var name: String
  package var asked: [Asked] = []
  package var refused: String?
  package var nameServer: String?
  package var withheld: [String] = []
  package var rebindAllowed: String?
  package var byName: [String] = []
  package var isCaptured = false
  package var backend: String
  package var reason: String
  package var lookup: String?
  package var answer: String?
  package var problem: String?

  package init(name: String, backend: String, reason: String) {
    self.name = name
    self.backend = backend
    self.reason = reason
  }

  private enum CodingKeys: String, DescribedKey {
    case version, name, asked, refused
    case nameServer = "name-server"
    case withheld
    case rebindAllowed = "rebind-allowed"
    case byName = "by-name"
    case isCaptured = "captured"
    case backend, reason, lookup, answer, problem

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .name: "The domain name."
      case .asked: "Where the question is sent; empty: nowhere."
      case .refused: "Why the question is refused, for people; null: it is not."
      case .nameServer: "The address of our own name server, if the question passes it; null: it does not."
      case .withheld: "The prefixes inside tunnels whose addresses answers may not have."
      case .rebindAllowed: "The domain of `rebind-allowed` that permits such answers; null: none."
      case .byName: "Ways of packets to its addresses by the name alone, for people."
      case .isCaptured: "Whether questions to other servers are answered in the same way."
      case .backend: "The DNS backend."
      case .reason: "Why this backend, for people."
      case .lookup: "How look-ups of this machine are noticed, for people; null: they are not."
      case .answer: "The answer, with --ask, for people; null: none."
      case .problem: "Why there is no answer, with --ask, for people; null: there is one, or none was wanted."
      }
    }
  }
}

extension NameReport {
  /// The servers of one tunnel, or of the network.
  package struct Asked: Hashable, Sendable, Codable {
    package var tunnel: String?
    package var link: String?
    package var servers: [String]
    package var reason: String

    package init(tunnel: String?, link: String?, servers: [String], reason: String) {
      self.tunnel = tunnel
      self.link = link
      self.servers = servers
      self.reason = reason
    }

    private enum CodingKeys: String, DescribedKey {
      case tunnel, link, servers, reason

      var about: String {
        switch self {
        case .tunnel: "The tunnel whose servers they are; null: the network's."
        case .link: "The network's link; null: a tunnel's servers, or the link is not known."
        case .servers: "Their addresses; empty: not known."
        case .reason: "Why, for people."
        }
      }
    }
  }
}
