package import KernelModel
package import NetworkTypes
import RoamwardCore

/// The results of an examination of a host, which the doctor evaluates. They are pure values, so that tests can construct a host.
package struct HostCondition: Equatable, Sendable {
  /// The names of checks that could not look at what they need, because the user is not root.
  package var unseen: Set<String> = []
  /// Files of policies, and other places, that could not be looked at for the same reason.
  package var unread: [String] = []
  package var kernel = KernelCondition()
  package var networkd: NetworkdCondition?
  package var resolvConf = ResolvConfCondition.file(isImmutable: false)
  /// The servers that resolv.conf names now.
  package var nameServers: [IPAddress] = []
  /// The browsers of this host.
  package var browsers: [BrowserCondition] = []
  /// Units that are enabled, with their suffix.
  package var enabledUnits: Set<String> = []
  /// Containers with their own name servers, by the program that runs them.
  package var containers: [ContainerResolvers] = []
  /// WireGuard tunnels that other programs start automatically.
  package var otherTunnels: [OtherTunnel] = []
  /// Missing programs of the tunnels' commands, by tunnel.
  package var missingPrograms: [String: [String]] = [:]
  /// Users that providers run as and that do not exist, by tunnel.
  package var missingUsers: [String: String] = [:]
  /// The reason why another service cannot bring up its tunnel, by tunnel.
  package var missingServices: [String: String] = [:]
  package var policyErrors = 0
  package var agent = AgentCondition.absent(reason: "")
  /// The state of the tunnels, from the running agent.
  package var tunnels: [TunnelCondition] = []
  /// The guards of programs (`roamward guard`), from the running agent.
  package var guards: [GuardCondition] = []
  /// Answers that our name server has withheld, from the running agent.
  package var withheld: [WithheldCondition] = []
  /// Addresses that a routed name shares with another name, as sentences, from the running agent.
  package var sharedAddresses: [String] = []
  /// Programs with connections to public name servers by TLS or HTTPS, as sentences. Only if a policy routes names.
  package var ownResolvers: [String] = []
  /// The agent sees a network. Without one nothing responds, and that is not a problem.
  package var isOnline = true
  /// The file that nftables.service loads, if it begins with the removal of all tables.
  package var flushesRuleset: String?
  /// Tables of other programs that drop outgoing traffic by default.
  package var closedTables: [ClosedTable] = []
  /// Seconds since 1970.
  package var clock: Int64 = 0

  package init() {}
}

/// Withheld answers with addresses inside one tunnel.
package struct WithheldCondition: Equatable, Sendable {
  package var text: String
  package var cure: String

  package init(text: String, cure: String) {
    self.text = text
    self.cure = cure
  }
}

package struct KernelCondition: Equatable, Sendable {
  /// The users of the agent's processes, each named after its program.
  package static let engineUser = "roamward-wireguard"
  package static let namesUser = "roamward-names"
  package static let probeUser = "roamward-probe"
  package static let proxyUser = "roamward-proxy"
  package static let users: Set = [engineUser, namesUser, probeUser, proxyUser]

  /// The reason why WireGuard tunnels cannot run here; `nil`: they can.
  package var wireGuardAbsence: String?
  /// WireGuard tunnels run in `roamward-wireguard` instead of the kernel.
  package var isWireGuardUserspace = false
  /// The users of the agent's processes (sysusers.d/roamward.conf) that this machine lacks.
  package var missingUsers: Set<String> = []
  /// The reason why `roamward-probe`, the process for look-ups and probes, cannot work here; `nil`: it can.
  package var probeAbsence: String?
  /// The reason why `/dev/net/tun` cannot be opened.
  package var tunAbsence: String?
  /// The reason why the firewall cannot be queried.
  package var nftablesAbsence: String?
  /// The reason why sockets of tunnels' programs cannot be marked; `nil`: they can, or it is not known.
  package var markAbsence: String?
  package var isIPv6Disabled = false
  /// Links with strict reverse-path filtering (`rp_filter` 1).
  package var strictLinks: [String] = []

  package init() {}
}

/// systemd-networkd, if it runs.
package struct NetworkdCondition: Equatable, Sendable {
  /// It removes routing rules of other programs when it starts (`ManageForeignRoutingPolicyRules=`, networkd.conf(5)); its default.
  package var removesForeignRules = true
  package var removesForeignRoutes = true

  package init(removesForeignRules: Bool = true, removesForeignRoutes: Bool = true) {
    self.removesForeignRules = removesForeignRules
    self.removesForeignRoutes = removesForeignRoutes
  }

  /// From networkd.conf and its drop-ins, in order of increasing precedence.
  package init(configuration texts: [String]) {
    self.init()
    for setting in texts.flatMap({ unitSettings(in: $0) }) where setting.section == "Network" {
      switch setting.key {
      case "ManageForeignRoutingPolicyRules": removesForeignRules = setting.isOn
      case "ManageForeignRoutes": removesForeignRoutes = setting.isOn
      default: continue
      }
    }
  }
}

package enum ResolvConfCondition: Equatable, Sendable {
  case file(isImmutable: Bool)
  case link(to: String)
  case absent
}

/// A WireGuard tunnel that another program starts.
package struct OtherTunnel: Equatable, Sendable {
  package enum Owner: Equatable, Sendable {
    /// An enabled unit of wg-quick(8).
    case unit(String)
    /// A connection of NetworkManager that connects automatically.
    case connection(String)
  }

  package var owner: Owner
  /// Its own public key, which shows that a policy's tunnel is the same one.
  package var publicKey: WireGuardKey
  package var file: String

  package init(owner: Owner, publicKey: WireGuardKey, file: String) {
    self.owner = owner
    self.publicKey = publicKey
    self.file = file
  }
}

/// The name servers in the resolv.conf that one program's containers got at their start.
package struct ContainerResolvers: Equatable, Sendable {
  package enum Program: String, Equatable, Sendable, CaseIterable {
    /// Docker's daemon.
    case docker
    /// Podman, which has no daemon.
    case podman
  }

  package var program: Program
  /// The number of containers that use them.
  package var count: Int
  package var servers: [IPAddress]
  /// The host's own address on the containers' network.
  package var host: IPAddress

  package init(program: Program, count: Int, servers: [IPAddress], host: IPAddress) {
    self.program = program
    self.count = count
    self.servers = servers
    self.host = host
  }
}

package enum AgentCondition: Equatable, Sendable {
  case absent(reason: String)
  /// It runs, but gives no answer.
  case silent(reason: String)
  case runs
}
