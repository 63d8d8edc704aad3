package import JSON
package import NetworkTypes
internal import RoamwardCore

/// The agent's state at one moment, as `roamward status --json` prints it.
package struct StatusReport: Hashable, Sendable, Codable {
  package var version: DocumentVersion = DocumentVersion()
  /// When the report was made.
  package var time: Timestamp
  package var process: Int
  package var policy: Policies
  package var primary: Primary
  package var firewall: FirewallStatus
  package var tunnels: [Tunnel]
  package var groups: [GroupReport] = []
  package var guards: [Guard]
  package var programs: [ProgramReport] = []
  package var endedPrograms: [EndedProgramsReport] = []
  package var probes: [Probe]
  package var notes: [RemarkReport]
  /// Other VPNs of the machine, and the prefixes that they route.
  package var others: [String]
  package var counters: Counters
  /// The DNS backend; `nil`: no tunnel brings name servers, and no backend was queried.
  package var resolver: Resolver?
  /// The address of proxies; `nil`: no policy publishes any.
  package var proxies: ProxiesReport?
  /// The last reason why the agent acted.
  package var lastWake: Wake?
  /// The next deadline without an event.
  package var nextWake: Wake?

  /// Whether the policies have not been read yet: the agent still removes leftover state. No tunnel is known meanwhile.
  package var isStarting: Bool { policy.generation == 0 && policy.problems.isEmpty }

  /// The report for users who may not read what others do: without the names that programs look up.
  package var withoutOthers: StatusReport {
    var report = self
    for i in report.tunnels.indices { (report.tunnels[i].lookup, report.tunnels[i].byName) = (nil, report.tunnels[i].byName?.withoutNames) }
    for i in (report.resolver?.withheld ?? []).indices { report.resolver?.withheld[i].last = nil }
    return report
  }

  package init(
    time: Timestamp, process: Int, policy: Policies, primary: Primary, firewall: FirewallStatus = FirewallStatus(), tunnels: [Tunnel],
    guards: [Guard] = [], probes: [Probe] = [], notes: [RemarkReport] = [], others: [String] = [], counters: Counters = Counters(),
    resolver: Resolver? = nil, lastWake: Wake? = nil, nextWake: Wake? = nil
  ) {
    self.time = time
    self.process = process
    self.policy = policy
    self.primary = primary
    self.firewall = firewall
    self.tunnels = tunnels
    self.guards = guards
    self.probes = probes
    self.notes = notes
    self.others = others
    self.counters = counters
    self.resolver = resolver
    self.lastWake = lastWake
    self.nextWake = nextWake
  }

  private enum CodingKeys: String, DescribedKey {
    case version, time
    case process = "pid"
    case policy, primary, firewall, tunnels, groups, guards, programs, probes, notes, others, counters
    case endedPrograms = "ended-programs"
    case proxies, resolver = "dns", lastWake = "last-wake", nextWake = "next-wake"

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .time: "Time of the report."
      case .process: "The agent's process."
      case .policy: "The policies, with errors and warnings."
      case .primary: "The link by which the machine is on its network."
      case .firewall: "The state of the kill switch."
      case .tunnels: "Every tunnel with a policy, by name."
      case .groups: "The groups of tunnels, of each of which one is in use at a time."
      case .guards: "The guards of programs (`roamward guard`)."
      case .programs: "Programs whose packets have a route of their own (`roamward run`)."
      case .endedPrograms: "Tunnels that programs went through which have ended: the kernel still sends for them."
      case .probes: "The questions that were put to the network."
      case .notes: "Parts of the policies that cannot be fulfilled."
      case .others: "Other VPNs of the machine, and what they route."
      case .counters: "Counters since the agent started."
      case .resolver: "The DNS backend of this host; null: no tunnel has DNS servers."
      case .proxies: "The script at the address of proxies; null: no policy publishes proxies."
      case .lastWake: "Why the agent last did something."
      case .nextWake: "The first thing that it waits for though nothing happens."
      }
    }
  }
}
