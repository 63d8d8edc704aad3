package import ControlProtocol
package import KernelModel
package import NetworkTypes
package import RoamwardCore

/// Everything outside the agent, by capability: the real machine, or a simulated one.
///
/// All functions are called on the agent's only thread, and none may block. Slow work calls back later, on the same thread. A platform
/// without a capability uses `unsupported`: each use fails with that reason, or returns nothing.
package struct Platform {
  package var clock: ClockPlatform
  package var machine: MachinePlatform
  package var network: NetworkPlatform
  package var commands: CommandPlatform
  package var installed: InstalledPlatform
  package var services: ServicePlatform
  package var guards: GuardPlatform
  package var programs: ProgramPlatform
  package var policies: PolicyPlatform
  package var recoveryLog: RecoveryLog
  /// All look-ups by `network`.
  let lookups: Lookups
  /// Records what the kill switch blocks, for people who log in and for `status` without an agent; `nil`: nothing.
  package var recordBlocking: (FirewallStatus?) -> Void

  package init(
    clock: ClockPlatform, machine: MachinePlatform, network: NetworkPlatform, commands: CommandPlatform,
    installed: InstalledPlatform = .unsupported, services: ServicePlatform = .unsupported, guards: GuardPlatform = .unsupported,
    programs: ProgramPlatform = .unsupported, policies: PolicyPlatform, recoveryLog: RecoveryLog,
    recordBlocking: @escaping (FirewallStatus?) -> Void
  ) {
    self.guards = guards
    self.programs = programs
    self.clock = clock
    self.machine = machine
    self.network = network
    lookups = Lookups(network, clock)
    self.commands = commands
    self.installed = installed
    self.services = services
    self.policies = policies
    self.recoveryLog = recoveryLog
    self.recordBlocking = recordBlocking
  }
}

/// Time and timers.
package struct ClockPlatform {
  /// The machine's monotonic clock: it is never set, and it continues in sleep.
  package var now: () -> Moment
  /// The wall clock.
  package var wallClock: () -> Timestamp
  /// A moment in local time, for people.
  package var localTime: (Timestamp) -> String
  /// The total time that the machine has slept since boot.
  package var timeAsleep: () -> Duration
  /// Requests one call at a moment, which replaces the previous request; `nil` cancels it.
  package var wake: (Moment?, @escaping () -> Void) -> Void

  package init(
    now: @escaping () -> Moment, wallClock: @escaping () -> Timestamp, localTime: @escaping (Timestamp) -> String,
    timeAsleep: @escaping () -> Duration,
    wake: @escaping (Moment?, @escaping () -> Void) -> Void
  ) {
    self.now = now
    self.wallClock = wallClock
    self.localTime = localTime
    self.timeAsleep = timeAsleep
    self.wake = wake
  }
}

/// The packets that are noticed. An IPv6 link sends multicasts by itself.
package enum WatchedPackets: Equatable, Sendable {
  case unicast
  case all
}

/// Reads and changes the kernel's state and the DNS backend's.
package struct MachinePlatform {
  /// Observes the machine. The request decides what is read: an SSID that no rule needs is not read.
  package var observe: (ObservationRequest) throws(PlatformError) -> Observation
  /// Reads the DNS backend and its state for these links, and nothing else.
  package var observeResolver: (Set<String>?) -> ResolverObservation
  /// Whether the kernel has announced no change since the last observation, apart from those that our own steps made. False if it may have.
  package var isAsObserved: () -> Bool
  /// Applies the steps that take effect at once, in order; returns those that failed.
  package var apply: ([Step]) -> [StepFailure]
  /// Begins a change that another program makes (`Step.isMadeByAnotherProgram`). Calls back when it has finished. If an engine has been
  /// started during this call, the steps that need it follow at once.
  package var begin: (Step, @escaping (Result<Void, PlatformError>) -> Void) -> Void
  /// Ends the processes of a userspace device whose link is gone.
  package var endUserspaceLink: (String) -> Void
  package var wireGuardEngine: () -> EngineChoice
  /// Keeps a process of the userspace engine ready for the next WireGuard link, or ends it; called again and again.
  package var keepEngineReady: (Bool) -> Void
  /// Reads the WireGuard device of this link, and nothing else; `nil`: it does not answer.
  package var readDevice: (String) -> WireGuardState?
  /// The packets that a link has received and sent, as the kernel counts; `nil`: there is no such link.
  package var countPackets: (String) -> (received: UInt64, sent: UInt64)?
  /// Calls back once, soon after a packet has passed the link in either direction; `nil`: this host cannot notice that.
  package var watchPackets: (String, WatchedPackets, @escaping () -> Void) -> Cancellation?
  /// Calls back at each look-up, in our name server, of a name whose tunnel is down; called once.
  package var watchLookups: (@escaping (NameLookup) -> Void) -> Void
  /// Calls back when our name server has something to say about answers; called once.
  package var watchAnswers: (@escaping (NameNews) -> Void) -> Void
  /// The addresses to which programs of this network namespace have connections.
  package var connectedAddresses: () -> Set<IPAddress>?
  /// The TCP ports at which programs of this machine wait for connections, for reports.
  package var listeningPorts: () -> [ListeningPort]
  /// The program that has a UDP port, unless it is the engine of this link or one that is ending; `nil`: the port is free.
  package var portHolder: (UInt16, String) -> PortHolder?
  /// The control group of this name, if it exists and has a process in it.
  package var controlGroup: (String) -> ControlGroup?

  package init(
    observe: @escaping (ObservationRequest) throws(PlatformError) -> Observation,
    observeResolver: @escaping (Set<String>?) -> ResolverObservation, isAsObserved: @escaping () -> Bool,
    apply: @escaping ([Step]) -> [StepFailure],
    begin: @escaping (Step, @escaping (Result<Void, PlatformError>) -> Void) -> Void, endUserspaceLink: @escaping (String) -> Void,
    wireGuardEngine: @escaping () -> EngineChoice, keepEngineReady: @escaping (Bool) -> Void,
    readDevice: @escaping (String) -> WireGuardState?,
    watchPackets: @escaping (String, WatchedPackets, @escaping () -> Void) -> Cancellation?,
    countPackets: @escaping (String) -> (received: UInt64, sent: UInt64)? = { _ in nil },
    watchLookups: @escaping (@escaping (NameLookup) -> Void) -> Void = { _ in },
    watchAnswers: @escaping (@escaping (NameNews) -> Void) -> Void = { _ in },
    connectedAddresses: @escaping () -> Set<IPAddress>? = { [] },
    listeningPorts: @escaping () -> [ListeningPort] = { [] }, portHolder: @escaping (UInt16, String) -> PortHolder? = { _, _ in nil },
    controlGroup: @escaping (String) -> ControlGroup?
  ) {
    self.observe = observe
    self.observeResolver = observeResolver
    self.isAsObserved = isAsObserved
    self.apply = apply
    self.begin = begin
    self.endUserspaceLink = endUserspaceLink
    self.wireGuardEngine = wireGuardEngine
    self.keepEngineReady = keepEngineReady
    self.readDevice = readDevice
    self.watchPackets = watchPackets
    self.countPackets = countPackets
    self.watchLookups = watchLookups
    self.watchAnswers = watchAnswers
    self.connectedAddresses = connectedAddresses
    self.listeningPorts = listeningPorts
    self.portHolder = portHolder
    self.controlGroup = controlGroup
  }
}

/// Queries over the underlay, whatever tunnels are up.
package struct NetworkPlatform {
  /// Resolves a name by these servers.
  package var resolve: (DomainName, LookupWay, @escaping (Resolution) -> Void) -> Cancellation?
  /// Sends a request from this link.
  package var probe: (ProbeRequest, LinkFacts, @escaping (ProbeReply) -> Void) -> Cancellation?
  /// Makes the kernel resolve a neighbour's hardware address on this link; the result arrives as an event.
  package var resolveNeighbour: (IPAddress, LinkFacts) -> Void
  /// Looks for the way of packets to an endpoint's address and port, with this firewall mark; `nil`: that is not known here.
  package var tryEndpoint: (IPAddress, UInt16, UInt32) -> EndpointTrial?
  /// Ends the process that read this network's answers. If it was taken over there, it must not answer for the next network.
  package var leave: () -> Void

  package init(
    resolve: @escaping (DomainName, LookupWay, @escaping (Resolution) -> Void) -> Cancellation?,
    probe: @escaping (ProbeRequest, LinkFacts, @escaping (ProbeReply) -> Void) -> Cancellation?,
    resolveNeighbour: @escaping (IPAddress, LinkFacts) -> Void,
    tryEndpoint: @escaping (IPAddress, UInt16, UInt32) -> EndpointTrial? = { _, _, _ in nil }, leave: @escaping () -> Void
  ) {
    self.tryEndpoint = tryEndpoint
    self.resolve = resolve
    self.probe = probe
    self.resolveNeighbour = resolveNeighbour
    self.leave = leave
  }
}

/// Programs of command tunnels.
package struct CommandPlatform {
  /// Runs a program of a tunnel. Its sockets have this firewall mark.
  package var run: (CommandAction, String, CommandProviderConfiguration, UInt32, @escaping (CommandOutcome) -> Void) -> Void
  /// Ends a tunnel's running program; its outcome follows soon.
  package var end: (String) -> Void
  /// Kills the program now, with all its child processes.
  package var cut: (String) -> Void
  /// Keeps the control group ready in which programs are started, or removes it; called at each change of the policies.
  package var keepGroup: (Bool) -> Void
  /// Returns the memory and processor time that a tunnel's programs use; `nil`: none runs, or it is not known.
  package var usage: (String) -> ProgramUsage?

  package init(
    run: @escaping (CommandAction, String, CommandProviderConfiguration, UInt32, @escaping (CommandOutcome) -> Void) -> Void,
    end: @escaping (String) -> Void, cut: @escaping (String) -> Void, keepGroup: @escaping (Bool) -> Void = { _ in },
    usage: @escaping (String) -> ProgramUsage? = { _ in nil }
  ) {
    self.keepGroup = keepGroup
    self.usage = usage
    self.run = run
    self.end = end
    self.cut = cut
  }

  /// Every program fails.
  package static var unsupported: CommandPlatform {
    CommandPlatform(
      run: { _, _, _, _, done in done(.failed(reason: "this platform runs no commands")) }, end: { _ in }, cut: { _ in })
  }
}

/// Cancels the work that it was created for when it is cancelled or released.
package final class Cancellation {
  private var held: AnyObject?

  /// `work` ends when its last reference is released.
  package init(_ work: AnyObject) { held = work }

  package func cancel() { held = nil }
}
