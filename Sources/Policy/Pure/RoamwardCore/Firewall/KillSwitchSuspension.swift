package import KernelModel
package import NetworkTypes

/// A suspension of the kill switch by a person: it blocks nothing for a while, or opens a portal window only.
package struct KillSwitchSuspension: Hashable, Sendable {
  package var since: Timestamp
  package var lifetime: ManualOverride.Lifetime
  /// Whether only the web and DNS are open, for a portal.
  package var isPortal: Bool
  /// The programs that a portal window is for; `nil`: all.
  package var programs: ControlGroup?
  /// The tunnel whose sign-in the window is for, and the only web servers that it opens; `nil`: all.
  package var signIn: SignIn?
  package var reason: String?

  package struct SignIn: Hashable, Sendable {
    package var tunnel: String
    package var sites: [GuardedEndpoint]

    package init(_ tunnel: String, at sites: [GuardedEndpoint]) {
      self.tunnel = tunnel
      self.sites = sites
    }
  }

  /// The maximum duration of a portal window.
  package static let longestPortal = Duration.seconds(600)

  package init(
    since: Timestamp, lifetime: ManualOverride.Lifetime, isPortal: Bool = false, programs: ControlGroup? = nil, signIn: SignIn? = nil,
    reason: String? = nil
  ) {
    self.since = since
    self.lifetime = lifetime
    self.isPortal = isPortal
    self.programs = programs
    self.signIn = signIn
    self.reason = reason
  }

  /// Whether it is over at this time on this network.
  package func isOver(at time: Timestamp, on network: NetworkIdentity) -> Bool {
    ManualOverride(wantsUp: false, since: since, lifetime: lifetime).isOver(at: time, on: network)
  }
}
