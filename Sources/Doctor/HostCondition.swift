package import KernelModel
package import NetworkTypes
import RoamwardCore

/// What an examination of a host has found: the material that the doctor judges. Pure values, so that a host can be made up.
package struct HostCondition: Hashable, Sendable {
  /// Whether who examines may look everywhere.
  package var isRoot = true
  package var kernel = KernelCondition()
  package var networkd: NetworkdCondition?
  package var resolvConf = ResolvConfCondition.file(isImmutable: false)
  /// Units that are enabled, with their suffix.
  package var enabledUnits: Set<String> = []
  /// Containers that have name servers of their own, by who runs them.
  package var containers: [ContainerResolvers] = []
  /// WireGuard tunnels that others bring up by themselves.
  package var otherTunnels: [OtherTunnel] = []
  /// The program that each tunnel's commands begin with and that is not there.
  package var missingPrograms: [String: [String]] = [:]
  package var policyErrors = 0
  package var agent = AgentCondition.absent(reason: "")
  /// By the word of the agent that runs.
  package var tunnels: [TunnelCondition] = []
  /// Whether the agent sees a network. Without one nothing answers, and nothing is wrong with that.
  package var isOnline = true
  /// Whether the file that nftables.service loads begins by removing everybody's tables.
  package var flushesRuleset: String?
  /// Others' tables that drop by default what leaves.
  package var closedTables: [ClosedTable] = []
  /// Seconds since 1970.
  package var clock: Int64 = 0

  package init() {}
}

package struct KernelCondition: Hashable, Sendable {
  /// Why WireGuard tunnels cannot run here; `nil`: they can.
  package var wireGuardAbsence: String?
  /// Whether they run in a program of ours rather than in the kernel.
  package var isWireGuardUserspace = false
  /// Whether that program has a user of its own to become (sysusers.d/roamward.conf).
  package var hasEngineUser = true
  /// Why the process that looks names up and sends probes, `roamward-probe`, cannot do so here; `nil`: it can.
  package var probeAbsence: String?
  /// Why `/dev/net/tun` cannot be opened.
  package var tunAbsence: String?
  /// Why the firewall cannot be asked.
  package var nftablesAbsence: String?
  package var isIPv6Disabled = false
  /// Links whose return paths the kernel checks strictly (`rp_filter` 1).
  package var strictLinks: [String] = []

  package init() {}
}

/// systemd-networkd, where it runs.
package struct NetworkdCondition: Hashable, Sendable {
  /// Whether it removes rules of others when it starts (`ManageForeignRoutingPolicyRules=`, networkd.conf(5)); its default.
  package var removesForeignRules = true
  package var removesForeignRoutes = true

  package init(removesForeignRules: Bool = true, removesForeignRoutes: Bool = true) {
    self.removesForeignRules = removesForeignRules
    self.removesForeignRoutes = removesForeignRoutes
  }

  /// From networkd.conf and its drop-ins, in the order in which they count.
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

package enum ResolvConfCondition: Hashable, Sendable {
  case file(isImmutable: Bool)
  case link(to: String)
  case absent
}

/// A WireGuard tunnel that somebody else brings up.
package struct OtherTunnel: Hashable, Sendable {
  package enum Owner: Hashable, Sendable {
    /// An enabled unit of wg-quick(8).
    case unit(String)
    /// A connection of NetworkManager that connects by itself.
    case connection(String)
  }

  package var owner: Owner
  /// Its own key, by which a policy's tunnel is known to be the same one.
  package var publicKey: WireGuardKey
  package var file: String

  package init(owner: Owner, publicKey: WireGuardKey, file: String) {
    self.owner = owner
    self.publicKey = publicKey
    self.file = file
  }
}

/// The name servers in the resolv.conf that the containers of one program were given when they were started.
package struct ContainerResolvers: Hashable, Sendable {
  package enum Program: String, Hashable, Sendable, CaseIterable {
    case docker, podman
  }

  package var program: Program
  /// How many containers ask them.
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

package enum AgentCondition: Hashable, Sendable {
  case absent(reason: String)
  case runs
}
