package import KernelModel
package import NetworkTypes

/// A guard (`roamward guard`): a kill switch for one program that a person has started. The program's control group alone reaches its
/// endpoints outside. All other traffic goes through its link, or through a tunnel that is up, or is blocked.
package struct ProgramGuard: Hashable, Sendable {
  /// The program's process; the guard is named after it.
  package var process: Int32
  /// The program's name, without a folder.
  package var program: String
  package var since: Timestamp
  /// The endpoints outside that its group may reach; empty: every address.
  package var endpoints: [GuardedEndpoint]
  /// The name of its link; `nil`: each link that programs carry, and that appears during the guard.
  package var link: String?
  /// The highest index of a link at the start. The kernel counts up, so a later link has a higher one.
  package var lastLinkBefore: UInt32
  package var group: ProviderGroup
  /// When `roamward guard` ended without saying so, as by SIGKILL; `nil`: it runs. The guard then blocks all traffic until a person
  /// ends it.
  package var heldSince: Timestamp?

  package init(
    process: Int32, program: String, since: Timestamp, endpoints: [GuardedEndpoint] = [], link: String? = nil, lastLinkBefore: UInt32 = 0,
    group: ProviderGroup, heldSince: Timestamp? = nil
  ) {
    self.process = process
    self.program = program
    self.since = since
    self.endpoints = endpoints
    self.link = link
    self.lastLinkBefore = lastLinkBefore
    self.group = group
    self.heldSince = heldSince
  }

  /// Whether this link may have the guard's traffic, by its kind.
  package static func isTunnel(_ link: Link) -> Bool { link.isOfTunnelKind }

  /// Whether the link is the guard's. Our own links are not: they count when their tunnels are up.
  package func owns(_ link: Link) -> Bool {
    if Ownership.tunnel(ofAlias: link.alias) != nil { return false }
    if let name = self.link { return link.name == name && Self.isTunnel(link) }
    return link.index.value > lastLinkBefore && link.master == nil && link.isOfProgram
  }
}

extension ProgramGuard: CustomStringConvertible {
  /// `openvpn (guard 4711)`.
  package var description: String { "\(escaped(program)) (guard \(process))" }

  /// The endpoints that its own packets may reach outside, for people.
  package var reach: String { endpoints.isEmpty ? "every address" : endpoints.map(\.description).joined(separator: ", ") }
}
