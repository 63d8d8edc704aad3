package import KernelModel
package import NetworkTypes

/// A suspension of the kill switch by a person: it blocks nothing for a while, or opens a portal window only.
package struct FirewallRelease: Hashable, Sendable {
  package var since: Timestamp
  package var lifetime: ManualOverride.Lifetime
  /// Whether only the web and DNS are open, for a portal.
  package var isPortal: Bool
  /// The programs that a portal window is for; `nil`: all.
  package var programs: ControlGroup?
  package var reason: String?

  /// The maximum duration of a portal window.
  package static let longestPortal = Duration.seconds(600)

  package init(
    since: Timestamp, lifetime: ManualOverride.Lifetime, isPortal: Bool = false, programs: ControlGroup? = nil, reason: String? = nil
  ) {
    self.since = since
    self.lifetime = lifetime
    self.isPortal = isPortal
    self.programs = programs
    self.reason = reason
  }

  /// Whether it is over at this time on this network.
  package func isOver(at time: Timestamp, on network: NetworkIdentity) -> Bool {
    ManualOverride(wantsUp: false, since: since, lifetime: lifetime).isOver(at: time, on: network)
  }
}
