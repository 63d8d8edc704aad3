/// What `release` asks for: the firewall open, wholly or for a captive portal.
package struct ReleaseRequest: Hashable, Sendable, Codable {
  package var isPortal: Bool
  /// The control group (/proc/PID/cgroup, version 2) of the only programs that a portal is opened to.
  package var programs: String?
  package var until: Lifetime
  package var reason: String?

  package init(isPortal: Bool = false, programs: String? = nil, until: Lifetime = .networkChange, reason: String? = nil) {
    self.isPortal = isPortal
    self.programs = programs
    self.until = until
    self.reason = reason
  }

  private enum CodingKeys: String, CodingKey {
    case isPortal = "portal"
    case programs, until, reason
  }
}
