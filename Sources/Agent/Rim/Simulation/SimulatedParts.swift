package import AgentCore
package import KernelModel
package import NetworkTypes
package import PolicySource
package import RoamwardCore

/// A log of the agents' actions.
package struct SimulatedLog {
  package internal(set) var applied: [Step] = []
  package internal(set) var renewals = 0
  package internal(set) var observations = 0
  /// The request of the last observation.
  package internal(set) var request: ObservationRequest?
  /// The number of attempts to write notes that are not on disk.
  package internal(set) var noteWrites = 0
  /// The number of reads of a single WireGuard device.
  package internal(set) var samples = 0
  /// The effects that agents have reached.
  package internal(set) var places: [String] = []

  mutating func tryNotes() -> [String] {
    noteWrites += 1
    return []
  }
}

/// Names and their addresses.
package struct SimulatedDNS {
  package var names: [DomainName: [IPAddress]] = [:]
  /// The address of a name that is not in `names`; `nil`: it does not resolve.
  package var otherNames: IPAddress?
  /// Name servers that never answer: a look-up by them fails after five seconds.
  package var silentServers: Set<IPAddress> = []
  /// Each look-up: name, link and servers.
  package var lookups: [String] = []
  /// The addresses to which programs have connections.
  package var connected: Set<IPAddress> = []
}

/// The questions of programs to our name server, and its reports to the agent.
package struct SimulatedQuestions {
  var lookedUp: (NameLookup) -> Void = { _ in }
  var report: (NameNews) -> Void = { _ in }
  /// The answers for routed names that programs have got.
  package internal(set) var given: [RoutedAnswer] = []

  /// A question's way by these settings: the servers that get it now, and the look-up that starts a tunnel. `isResolved`: whether the
  /// network's servers resolve the name.
  func way(of name: DomainName, isResolved: Bool, by settings: NameServerSettings, asker: NameLookup.Asker?) -> ([IPAddress], NameLookup?) {
    guard let (watch, _, fate) = settings.watch(for: name) else { return (settings.network, nil) }
    if watch.progress == .connected, fate != .never { return (watch.servers.isEmpty ? settings.network : watch.servers, nil) }
    let lookup = [.down, .failed].contains(watch.progress) ? NameLookup(tunnel: watch.tunnel, name: name.text, asker: asker) : nil
    switch fate {
    case .never: return (settings.network, nil)
    case .ifNeeded(let servers): return (servers.isEmpty ? settings.network : servers, isResolved ? nil : lookup)
    case .always: return ([], lookup)
    }
  }
}

/// The obstacles that packets to endpoints meet, in the kernel and in the network.
package struct SimulatedSending {
  package var obstacles: [IPAddress: SendObstacle] = [:]
  /// The errors that ICMP reports after the first packet to an address.
  package var echoes: [IPAddress: SendObstacle] = [:]
  /// The programs that have UDP ports.
  package var portHolders: [UInt16: String] = [:]

  func trial(of address: IPAddress) -> EndpointTrial {
    var sent = 0
    return EndpointTrial(obstacles[address]) { [echoes] in
      sent += 1
      return sent > 1 ? echoes[address] : nil
    }
  }
}

/// Web servers that probes ask.
package struct SimulatedProbing {
  /// The replies to requests by URL, after `time`; requests of any other URL get none.
  package var replies: [String: ProbeReply] = [:]
  package var time = Duration.milliseconds(100)
  /// Each request: URL and link.
  package var requests: [String] = []
  /// The number of times that the agent ended the probe process because it left the process's network.
  package var departures = 0
}

/// Neighbours on the links.
package struct SimulatedNeighbours {
  /// Those whose hardware address the kernel was asked to resolve.
  package var requests: [String] = []
  package var whenAsked: (IPAddress) -> Void = { _ in }
}

/// The programs of tunnels with the provider `command`.
package struct SimulatedPrograms {
  package var services = SimulatedServices()
  /// Results of a command's actions, in order; the last one stays.
  package var results: [CommandAction: [CommandOutcome]] = [:]
  /// The run times of programs that do not end at once.
  package var times: [CommandAction: Duration] = [:]
  /// Each run: tunnel and action.
  package var runs: [String] = []
  /// The same, with the command of the tunnel.
  package internal(set) var calls: [(tunnel: String, action: CommandAction, command: CommandProviderConfiguration)] = []
  /// Tunnels whose command has been brought up and not down.
  package var running = Set<String>()
  /// The control groups that programs run in, by name.
  package var controlGroups = Set<String>()
}

/// The program that changes the DNS backend.
package struct SimulatedResolver {
  package var changes: [Step] = []
  /// It never answers.
  package var isDeaf = false
  /// The time that it runs on after its change is visible; `nil`: none.
  package var time: Duration?
}

/// The state that outlives an agent.
package struct SimulatedDisk {
  /// The staged policies, whatever files are given; `nil`: this machine has no trials.
  package var stagedPolicies: PolicySet?
  /// The errors and warnings of the policy files.
  package var problems: [Diagnostic] = []
  package var unfinishedLinks = Set<String>()
  /// Whether notes cannot be written.
  package var isFull = false
  package var startedCommands: [String: CommandProviderConfiguration] = [:]
  package var overrides: [String: ManualOverride] = [:]
  package var handOver = HandOver()
  /// When an earlier agent last wrote something.
  package var latestTime: Timestamp?
  package var trial: PolicyTrial?
  package var isTrialKept = false
}

/// The monotonic clock and the wall clock, which move only on request.
package struct SimulatedClock {
  package var now = Moment(nanoseconds: 0)
  /// The wall-clock time at the start; if it is set, snapshots include the time.
  package var start: LocalTime?
  /// The total time that the machine has slept.
  var asleep = Duration.zero
  /// The seconds by which the wall clock has been set forwards.
  private var stepped: Int64 = 0

  /// The wall clock; the simulation begins at a round second.
  package var wallClock: Timestamp { Timestamp(milliseconds: Int64(now.nanoseconds / 1_000_000) + (1_000_000 + stepped) * 1000) }

  /// Sets the wall clock, forwards or backwards, whichever is less. The monotonic clock does not change.
  package mutating func set(to time: LocalTime) {
    guard let before = localTime else { return }
    let week = 7 * 86_400
    let forwards = ((time.secondOfWeek - before.secondOfWeek) % week + week) % week
    stepped += Int64(forwards <= week / 2 ? forwards : forwards - week)
  }

  /// The wall clock's local time now.
  package var localTime: LocalTime? {
    start.map { start in
      let week = 7 * 86_400
      let passed = start.secondOfWeek + Int(now.nanoseconds / 1_000_000_000) + Int(stepped)
      let second = (passed % week + week) % week
      return LocalTime(day: Weekday(rawValue: second / 86_400 + 1) ?? .mon, second: second % 86_400)
    }
  }
}

extension NetworkSnapshot {
  /// Without facts that were not requested: no source is asked for them.
  func keepingOnly(_ needed: Set<FactKind>) -> NetworkSnapshot {
    var kept = self
    for kind in FactKind.allCases where !needed.contains(kind) {
      kept.makeUnknown(kind, reason: Fact<Bool>.notNeededReason)
      for index in links.indices { kept.links[index].makeUnknown(kind, reason: Fact<Bool>.notNeededReason) }
    }
    return kept
  }
}
