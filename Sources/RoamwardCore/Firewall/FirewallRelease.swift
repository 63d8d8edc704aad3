package import KernelModel
package import NetworkTypes

/// A person's word that the firewall is to hold nothing back for a while, or only to let a captive portal through.
package struct FirewallRelease: Hashable, Sendable {
  package var since: Timestamp
  package var lifetime: ManualOverride.Lifetime
  /// Only the web and DNS, for a portal.
  package var isPortal: Bool
  /// The programs that a portal is opened to; `nil`: all.
  package var programs: ControlGroup?
  package var reason: String?

  /// A portal's window closes after this time at the latest.
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
