package import NetworkTypes

/// The programs that may reach the web and DNS past a kill switch for a while, so that a person can sign in to a network.
package struct PortalWindow: Hashable, Sendable {
  /// The control group that the window is open for, for instance a browser's; `nil`: every program of this machine.
  package var programs: ControlGroup?
  /// The host's own resolvers, which resolve names for them. Queries of other programs to the resolvers go out too.
  package var resolvers: [ControlGroup]

  /// The control groups of services that resolve names: systemd-resolved, our own name server (of the agent's service), and NetworkManager
  /// with its dnsmasq.
  package static let resolverGroups = ["systemd-resolved", "roamwardd", "NetworkManager", "dnsmasq", "unbound"].map {
    "/system.slice/\($0).service"
  }

  /// The only web servers, for a sign-in; `nil`: all. With them, DNS goes to `nameServers` alone.
  package var sites: [GuardedEndpoint]?
  /// The network's own name servers.
  package var nameServers: [IPAddress] = []

  package init(programs: ControlGroup? = nil, resolvers: [ControlGroup] = [], sites: [GuardedEndpoint]? = nil) {
    self.programs = programs
    self.resolvers = resolvers
    self.sites = sites
  }
}

/// A control group of version 2 (cgroups(7)): programs that were started together, and their children.
package struct ControlGroup: Hashable, Sendable {
  /// The path from the root of the hierarchy, as in /proc/PID/cgroup: `/user.slice/user-1000.slice/portal.scope`.
  package let name: String
  /// The path for nftables, below /sys/fs/cgroup.
  package let path: String

  /// `mount`: the path of the hierarchy below /sys/fs/cgroup; empty on most hosts, `unified` beside groups of version 1. `nil` for the
  /// root, which contains every process, and for names that cannot be quoted in a rule.
  package init?(_ name: String, mount: String = "") {
    let parts = name.split(separator: "/")
    guard name.first == "/", !parts.isEmpty, !parts.contains(".."), name.utf8.count <= 1024,
      name.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "\"") })
    else { return nil }
    self.name = "/" + parts.joined(separator: "/")
    path = (mount.isEmpty ? "" : mount + "/") + parts.joined(separator: "/")
  }

  /// The depth, by which the kernel finds a socket's ancestor to compare with it.
  var level: Int { name.utf8.count { $0 == UInt8(ascii: "/") } }

  /// The nftables expression that matches sockets of its programs.
  var match: String { "socket cgroupv2 level \(level) \"\(path)\"" }
}
