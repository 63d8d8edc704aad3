package import ControlProtocol
package import KernelModel
package import NetworkTypes
package import RoamwardCore

/// Everything outside the agent, by capability: the real machine, or a simulated one.
///
/// All functions are called on the agent's one thread, and none may block; what takes time calls back later, on the same thread. A platform
/// without a capability says so (`unsupported`): each use of it fails with that reason, or is answered with nothing.
package struct Platform {
  package var clock: ClockPlatform
  package var machine: MachinePlatform
  package var network: NetworkPlatform
  package var commands: CommandPlatform
  package var policies: PolicyPlatform
  package var recoveryLog: RecoveryLog
  /// Records what the kill switch blocks, for people who log in and for `status` without an agent; `nil`: nothing.
  package var recordBlocking: (FirewallStatus?) -> Void

  package init(
    clock: ClockPlatform, machine: MachinePlatform, network: NetworkPlatform, commands: CommandPlatform, policies: PolicyPlatform,
    recoveryLog: RecoveryLog, recordBlocking: @escaping (FirewallStatus?) -> Void
  ) {
    self.clock = clock
    self.machine = machine
    self.network = network
    self.commands = commands
    self.policies = policies
    self.recoveryLog = recoveryLog
    self.recordBlocking = recordBlocking
  }
}

/// Time, and being woken.
package struct ClockPlatform {
  /// The machine's own clock, which nobody sets and which goes on in sleep.
  package var now: () -> Moment
  /// The clock on the wall.
  package var wallClock: () -> Timestamp
  /// A moment in local time, for people.
  package var localTime: (Timestamp) -> String
  /// How long the machine has slept since it started.
  package var timeAsleep: () -> Duration
  /// Asks for one call back at a moment, in place of the one asked for before; `nil` asks for none.
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

/// What there is in the kernel and in resolvers, and changing it.
package struct MachinePlatform {
  /// Reads the machine anew. The request decides what is gathered: an SSID that no rule needs is not read.
  package var observe: (ObservationRequest) throws(PlatformError) -> Observation
  /// Reads anew who keeps the resolver and what it has for these links, and nothing else.
  package var observeResolver: (Set<String>?) -> ResolverObservation
  /// Makes the changes that can be made at once, in order; gives those that failed.
  package var apply: ([Step]) -> [StepFailure]
  /// Begins a change that another program makes (`Step.isMadeByAnotherProgram`). Calls back when it has.
  package var begin: (Step, @escaping (Result<Void, PlatformError>) -> Void) -> Void
  /// Ends what is left of a userspace device whose link has gone.
  package var endUserspaceLink: (String) -> Void
  package var wireGuardEngine: () -> EngineChoice
  /// Reads the WireGuard device of this link, and nothing else; `nil`: it does not answer.
  package var readDevice: (String) -> WireGuardState?
  /// The control group of this name, if there is one with a program in it.
  package var controlGroup: (String) -> ControlGroup?

  package init(
    observe: @escaping (ObservationRequest) throws(PlatformError) -> Observation,
    observeResolver: @escaping (Set<String>?) -> ResolverObservation, apply: @escaping ([Step]) -> [StepFailure],
    begin: @escaping (Step, @escaping (Result<Void, PlatformError>) -> Void) -> Void, endUserspaceLink: @escaping (String) -> Void,
    wireGuardEngine: @escaping () -> EngineChoice, readDevice: @escaping (String) -> WireGuardState?,
    controlGroup: @escaping (String) -> ControlGroup?
  ) {
    self.observe = observe
    self.observeResolver = observeResolver
    self.apply = apply
    self.begin = begin
    self.endUserspaceLink = endUserspaceLink
    self.wireGuardEngine = wireGuardEngine
    self.readDevice = readDevice
    self.controlGroup = controlGroup
  }
}

/// Asking the network below the tunnels, whatever tunnels are up.
package struct NetworkPlatform {
  /// Resolves a name by these servers, from this link.
  package var resolve: (DomainName, [IPAddress], String?, @escaping (Resolution) -> Void) -> Cancellation?
  /// Sends a request from this link.
  package var probe: (ProbeRequest, LinkFacts, @escaping (ProbeReply) -> Void) -> Cancellation?
  /// Has the kernel resolve a neighbour's hardware address on this link; that it is there is an event.
  package var resolveNeighbour: (IPAddress, LinkFacts) -> Void

  package init(
    resolve: @escaping (DomainName, [IPAddress], String?, @escaping (Resolution) -> Void) -> Cancellation?,
    probe: @escaping (ProbeRequest, LinkFacts, @escaping (ProbeReply) -> Void) -> Cancellation?,
    resolveNeighbour: @escaping (IPAddress, LinkFacts) -> Void
  ) {
    self.resolve = resolve
    self.probe = probe
    self.resolveNeighbour = resolveNeighbour
  }
}

/// Programs of command tunnels.
package struct CommandPlatform {
  /// Runs a program of a tunnel.
  package var run: (CommandAction, String, CommandProviderConfiguration, @escaping (CommandOutcome) -> Void) -> Void
  /// Ends what still runs for a tunnel; its outcome comes soon.
  package var end: (String) -> Void
  /// Ends it now, with all that it has started.
  package var cut: (String) -> Void

  package init(
    run: @escaping (CommandAction, String, CommandProviderConfiguration, @escaping (CommandOutcome) -> Void) -> Void,
    end: @escaping (String) -> Void, cut: @escaping (String) -> Void
  ) {
    self.run = run
    self.end = end
    self.cut = cut
  }

  /// Every program fails.
  package static var unsupported: CommandPlatform {
    CommandPlatform(
      run: { _, _, _, done in done(.failed(reason: "this platform runs no commands")) }, end: { _ in }, cut: { _ in })
  }
}

/// Ends what it was given for when it is cancelled, or dropped.
package final class Cancellation {
  private var held: AnyObject?

  /// `work` ends when nobody holds it any more.
  package init(_ work: AnyObject) { held = work }

  package func cancel() { held = nil }
}
