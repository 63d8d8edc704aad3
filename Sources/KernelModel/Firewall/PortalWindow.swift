/// Who may reach the web and DNS past a kill switch for a while, so that a person can sign in to a network.
package struct PortalWindow: Hashable, Sendable {
  /// The programs that it is open to, a browser's say; `nil`: every program of this machine.
  package var programs: ControlGroup?
  /// The host's own resolver, which asks for names on their behalf. With it, what other programs ask the resolver for goes out too.
  package var resolver: ControlGroup?

  /// Of systemd-resolved's service.
  package static let resolverGroup = "/system.slice/systemd-resolved.service"

  package init(programs: ControlGroup? = nil, resolver: ControlGroup? = nil) {
    self.programs = programs
    self.resolver = resolver
  }
}

/// A control group of version 2 (cgroups(7)): programs that were started together, and whatever they start.
package struct ControlGroup: Hashable, Sendable {
  /// From the root of the hierarchy, as /proc/PID/cgroup has it: `/user.slice/user-1000.slice/portal.scope`.
  package let name: String
  /// Where nftables looks for it, below /sys/fs/cgroup.
  package let path: String

  /// `mount`: where the hierarchy is below /sys/fs/cgroup; empty on most hosts, `unified` beside groups of version 1.
  /// `nil` for the root, which everybody is in, and for what cannot stand in a rule between quotes.
  package init?(_ name: String, mount: String = "") {
    let parts = name.split(separator: "/")
    guard name.first == "/", !parts.isEmpty, !parts.contains(".."), name.utf8.count <= 1024,
      name.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "\"") })
    else { return nil }
    self.name = "/" + parts.joined(separator: "/")
    path = (mount.isEmpty ? "" : mount + "/") + parts.joined(separator: "/")
  }

  /// Its depth, by which the kernel finds a socket's ancestor to compare with it.
  var level: Int { name.utf8.count { $0 == UInt8(ascii: "/") } }

  /// nftables' words for sockets of its programs.
  var match: String { "socket cgroupv2 level \(level) \"\(path)\"" }
}
