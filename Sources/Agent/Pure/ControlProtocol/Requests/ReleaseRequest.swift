/// The request of `release`: suspend the kill switch, or open a portal window.
package struct ReleaseRequest: Equatable, Sendable, Codable {
  package var isPortal: Bool
  /// The control group (/proc/PID/cgroup, version 2) of the only programs that a portal window is for.
  package var programs: String?
  /// The tunnel whose sign-in the portal window is for: it opens the web server of the page that its provider shows.
  package var signIn: String?
  /// Further web servers of that sign-in: names or addresses, with a port or without.
  package var hosts: [String]?
  package var until: Lifetime
  package var reason: String?

  package init(
    isPortal: Bool = false, programs: String? = nil, signIn: String? = nil, hosts: [String]? = nil, until: Lifetime = .networkChange,
    reason: String? = nil
  ) {
    self.isPortal = isPortal
    self.programs = programs
    self.signIn = signIn
    self.hosts = hosts
    self.until = until
    self.reason = reason
  }

  private enum CodingKeys: String, CodingKey {
    case isPortal = "portal"
    case signIn = "sign-in"
    case programs, hosts, until, reason
  }
}
