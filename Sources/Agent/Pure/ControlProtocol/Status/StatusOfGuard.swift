internal import JSON
package import NetworkTypes

extension StatusReport {
  /// A guard of a program (`roamward guard`).
  package struct Guard: Hashable, Sendable, Codable {
    package var process: Int
    package var program: String
    package var since: Timestamp
    package var endpoints: [String]
    /// The name that its link has to have; `nil`: no name was given.
    package var link: String?
    /// Its links that exist; empty: all traffic is blocked.
    package var links: [String]
    /// The highest index of a link at its start.
    package var lastLinkBefore: Int64
    package var group: Group
    /// When `roamward guard` was killed, since when it stays closed; `nil`: it runs.
    package var heldSince: Timestamp?
    package var usage: Usage?

    package init(
      process: Int, program: String, since: Timestamp, endpoints: [String], link: String?, links: [String], lastLinkBefore: Int64,
      group: Group, heldSince: Timestamp? = nil, usage: Usage? = nil
    ) {
      self.process = process
      self.program = program
      self.since = since
      self.endpoints = endpoints
      self.link = link
      self.links = links
      self.lastLinkBefore = lastLinkBefore
      self.group = group
      self.heldSince = heldSince
      self.usage = usage
    }

    private enum CodingKeys: String, DescribedKey {
      case process = "pid"
      case program, since, endpoints, link, links
      case lastLinkBefore = "last-link-before"
      case group
      case heldSince = "held-since"
      case usage

      var about: String {
        switch self {
        case .process: "The program's process."
        case .program: "The program's name."
        case .since: "Time of its start."
        case .endpoints: "The addresses, with or without a port, that the program alone reaches outside; empty: every address."
        case .link: "The name that its link has to have; null: none was given."
        case .links: "Its links; empty: there is none yet, and all traffic is blocked."
        case .lastLinkBefore: "The highest index of a link at its start: without a name, its links have a higher one."
        case .group: "Its control group."
        case .heldSince: "Time since which it stays closed, because `roamward guard` was killed; null: it runs."
        case .usage: "What its processes use; null: not known."
        }
      }
    }
  }
}

extension StatusReport.Guard {
  /// A control group of version 2.
  package struct Group: Hashable, Sendable, Codable {
    /// The inode number of its folder.
    package var number: Int64
    /// The depth below the root of the hierarchy.
    package var level: Int

    package init(number: Int64, level: Int) {
      self.number = number
      self.level = level
    }

    private enum CodingKeys: String, DescribedKey {
      case number, level

      var about: String {
        switch self {
        case .number: "The number of its folder (inode)."
        case .level: "Its depth below the root of the hierarchy."
        }
      }
    }
  }
}
