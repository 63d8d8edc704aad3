/// The request of `release`: suspend the kill switch, or open a portal window.
package struct ReleaseRequest: Equatable, Sendable, Codable {
  package var isPortal: Bool
  /// The control group (/proc/PID/cgroup, version 2) of the only programs that a portal window is for.
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
