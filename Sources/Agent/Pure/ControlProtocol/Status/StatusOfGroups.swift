internal import JSON
package import NetworkTypes

/// A group of tunnels, of which one is in use at a time.
package struct GroupReport: Hashable, Sendable, Codable {
  package var name: String
  /// The members in their order of preference.
  package var members: [Member]

  package init(name: String, members: [Member]) {
    self.name = name
    self.members = members
  }

  /// The tunnel in use.
  package var member: Member? { members.first { $0.role == .inUse } }

  /// The state of the group: that of the member in use.
  package var state: String { member?.state ?? "disconnected" }

  private enum CodingKeys: String, DescribedKey {
    case name, members

    var about: String {
      switch self {
      case .name: "The name of the group."
      case .members: "Its tunnels, in their order of preference."
      }
    }
  }
}

extension GroupReport {
  /// A tunnel of a group.
  package struct Member: Hashable, Sendable, Codable {
    package enum Role: String, Hashable, Sendable, JSONEnum {
      /// It is in use, or is the one that would be.
      case inUse = "in-use"
      /// It is started beside the one in use, to see whether its peer answers.
      case trial
      /// It stays down while another member is in use.
      case standby
    }

    package var tunnel: String
    package var role: Role
    /// As in `tunnels`.
    package var state: String
    /// When it is tried again; `nil`: it has not failed, or a person has to act first.
    package var triedAgain: Timestamp?

    package init(tunnel: String, role: Role, state: String, triedAgain: Timestamp? = nil) {
      self.tunnel = tunnel
      self.role = role
      self.state = state
      self.triedAgain = triedAgain
    }

    private enum CodingKeys: String, DescribedKey {
      case tunnel, role, state
      case triedAgain = "next-at"

      var about: String {
        switch self {
        case .tunnel: "The name of the tunnel."
        case .role: "in-use; trial: started beside the one in use, to see whether its peer answers; standby: down meanwhile."
        case .state: "Its state, as in `tunnels`."
        case .triedAgain: "When it is tried again; null: it has not failed, or a person has to act first."
        }
      }
    }
  }
}
