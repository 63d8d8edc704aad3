internal import JSON
package import NetworkTypes

/// Programs whose packets have a route of their own (`roamward run`): those of one control group.
package struct ProgramReport: Hashable, Sendable, Codable {
  /// The path of the control group.
  package var group: String
  /// The tunnel that their packets leave by, or not at all; `nil`: outside of every tunnel.
  package var tunnel: String?
  /// The link of that tunnel; `nil`: it is down, and their packets are blocked, or they go outside.
  package var link: String?
  /// The mark of their sockets.
  package var mark: String
  /// The user who started the first of them.
  package var user: Int
  package var usage: StatusReport.Usage?
  /// The number of the control group (inode) and its depth.
  package var cgroup: StatusReport.Guard.Group

  package init(
    group: String, tunnel: String?, link: String?, mark: String, user: Int, usage: StatusReport.Usage?, cgroup: StatusReport.Guard.Group
  ) {
    self.group = group
    self.tunnel = tunnel
    self.link = link
    self.mark = mark
    self.user = user
    self.usage = usage
    self.cgroup = cgroup
  }

  private enum CodingKeys: String, DescribedKey {
    case group, tunnel, link, mark, user, usage, cgroup

    var about: String {
      switch self {
      case .group: "The path of their control group."
      case .tunnel: "The tunnel that their packets leave by, or not at all; null: they leave outside of every tunnel."
      case .link: "The link of that tunnel; null: it is down, and their packets are blocked, or they leave outside."
      case .mark: "The mark of their sockets, as 0x and hexadecimal digits."
      case .user: "The user who started the first of them."
      case .usage: "What they use; null: not known."
      case .cgroup: "The number and the depth of their control group."
      }
    }
  }
}

/// Programs through a tunnel of which none runs any more. What the kernel still sends for them keeps their route.
package struct EndedProgramsReport: Hashable, Sendable, Codable {
  package var tunnel: String
  /// The mark of their sockets.
  package var mark: String
  /// The end of their route.
  package var until: Timestamp

  package init(tunnel: String, mark: String, until: Timestamp) {
    self.tunnel = tunnel
    self.mark = mark
    self.until = until
  }

  private enum CodingKeys: String, DescribedKey {
    case tunnel, mark, until

    var about: String {
      switch self {
      case .tunnel: "The tunnel that their packets leave by, or not at all."
      case .mark: "The mark of their sockets, as 0x and hexadecimal digits."
      case .until: "When their route ends."
      }
    }
  }
}
