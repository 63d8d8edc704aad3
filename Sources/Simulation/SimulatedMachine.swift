package import AgentCore
package import KernelModel
package import NetworkTypes
package import PolicySource
package import RoamwardCore

/// A machine in memory whose clock only moves when told: networks to be on, peers that answer or not, names that resolve or not.
///
/// The agent that runs in it is the real one. `roamward simulate` and the agent's tests live here.
package final class SimulatedMachine {
  package var state = SimulatedState()
  package var network = NetworkSnapshot()
  package var policies = PolicySet()
  package var problems: [Diagnostic] = []
  package var peersAnswer = true
  /// What WireGuard links are connected to, in place of `peersAnswer`.
  package var peers: (any SimulatedPeers)?
  /// How long it has slept.
  private var asleep = Duration.zero
  package var engine = EngineChoice.engine(.kernel)
  package var names: [DomainName: [IPAddress]] = [:]
  /// A name that is not among `names` has this address; `nil`: it does not resolve.
  package var otherNames: IPAddress?
  /// What requests of a URL are answered, after `probeTime`; those of any other URL are not answered.
  package var probeReplies: [String: ProbeReply] = [:]
  package var probeTime = Duration.milliseconds(100)
  package private(set) var probes: [String] = []
  /// Results of a command's actions, in order; the last one stays.
  package var commandResults: [CommandAction: [CommandOutcome]] = [:]
  /// Neighbours whose hardware address the kernel was asked to resolve.
  package private(set) var neighbourRequests: [String] = []
  package var whenNeighbourIsAsked: (IPAddress) -> Void = { _ in }
  package var failingSteps: (Step) -> String? = { _ in nil }
  /// The clock on the wall at the beginning; with it snapshots carry the time.
  package var start: LocalTime?
  package private(set) var commands: [String] = []
  package private(set) var applied: [Step] = []
  package private(set) var resolverChanges: [Step] = []
  package var resolverIsDeaf = false
  /// How long a program that keeps the resolver goes on after what it has changed shows; `nil`: it is through at once.
  package var resolverTime: Duration?
  package private(set) var lookups: [String] = []
  package private(set) var renewals = 0
  /// How long programs take that are not through at once.
  package var commandTimes: [CommandAction: Duration] = [:]
  /// Name servers that never answer: a look-up by them fails after five seconds.
  package var silentServers: Set<IPAddress> = []
  package private(set) var observations = 0
  /// How often a WireGuard device was read alone.
  package private(set) var samples = 0
  package var unfinishedLinks = Set<String>()
  package var startedCommands: [String: CommandProviderConfiguration] = [:]
  package var savedOverrides: [String: ManualOverride] = [:]
  /// Tunnels whose command has been brought up and not down.
  package private(set) var running = Set<String>()
  /// Policies that are put aside whatever files are given; `nil`: this machine has no trials.
  package var stagedPolicies: PolicySet?
  private var trial: PolicyTrial?
  private var isKept = false
  /// Where the agent dies. Then nothing that it began goes on, until there is another one (`platform`).
  package var fuse: Fuse?
  /// Places that agents have come to.
  package private(set) var places: [String] = []
  /// After each step that was made.
  package var whenApplied: (Step) -> Void = { _ in }
  private var life = SimulatedLife()
  package private(set) var now = Moment(nanoseconds: 0)
  /// By how many seconds the clock on the wall has been set forwards.
  private var stepped: Int64 = 0
  private var alarm: (at: Moment, handler: () -> Void)?
  private var later: [() -> Void] = []
  private var arrivals: [(at: Moment, Arrival)] = []

  package init() {}

  /// No timer is set: nothing happens until something from outside does.
  package var isIdle: Bool { alarm == nil && arrivals.allSatisfy { $0.1.isGone } }

  /// The simulation begins at a round second.
  package var wallClock: Timestamp { Timestamp(milliseconds: Int64(now.nanoseconds / 1_000_000) + (1_000_000 + stepped) * 1000) }

  /// Sets the clock on the wall, forwards or backwards, whichever is less. What counts on the machine's own clock does not notice.
  package func setClock(to time: LocalTime) {
    guard let before = localTime else { return }
    let week = 7 * 86_400
    let forwards = ((time.secondOfWeek - before.secondOfWeek) % week + week) % week
    stepped += Int64(forwards <= week / 2 ? forwards : forwards - week)
  }

  /// The clock on the wall now.
  package var localTime: LocalTime? {
    start.map { start in
      let week = 7 * 86_400
      let passed = start.secondOfWeek + Int(now.nanoseconds / 1_000_000_000) + Int(stepped)
      let second = (passed % week + week) % week
      return LocalTime(day: Weekday(rawValue: second / 86_400 + 1) ?? .mon, second: second % 86_400)
    }
  }

  /// Lets time pass, with everything that falls due in it, in order.
  package func run(for duration: Duration = .zero) { run(until: now + duration) }

  package func run(until end: Moment) {
    callBack()
    while let due = nextDue, due <= end {
      now = max(now, due)
      if let next = peers?.nextEvent, next <= now {
        peers?.advance(to: now)
        continue
      }
      if let arrival = arrivals.firstIndex(where: { $0.at <= now }) {
        arrivals.remove(at: arrival).1.arrive()
      } else if let handler = alarm?.handler {
        alarm = nil
        handler()
      }
      callBack()
    }
    now = max(now, end)
  }

  /// The machine sleeps: the clock goes on, and nothing happens on it until it wakes.
  package func sleep(for time: Duration) {
    peers?.sleep(for: time, from: now)
    now = now + time
    asleep += time
  }

  private var nextDue: Moment? {
    arrivals.removeAll { $0.1.isGone }
    return [alarm?.at, arrivals.map(\.at).min(), peers?.nextEvent].compactMap { $0 }.min()
  }

  private func callBack() {
    while !later.isEmpty { later.removeFirst()() }
  }

  // MARK: The platform

  /// For a new agent; one before it is as good as dead.
  package var platform: Platform {
    life.isDead = true
    let life = SimulatedLife()
    self.life = life
    later = []
    alarm = nil
    return Platform(
      clock: clock(of: life), machine: machine(of: life), network: network(of: life),
      commands: CommandPlatform(
        run: { [unowned self] action, tunnel, command, done in run(action, tunnel, command, by: life, then: done) }, end: { _ in },
        cut: { _ in }),
      policies: PolicyPlatform(load: { [unowned self] in loaded }, trials: trials(of: life)), recoveryLog: recoveryLog(of: life),
      recordBlocking: { _ in })
  }

  private func clock(of life: SimulatedLife) -> ClockPlatform {
    ClockPlatform(
      now: { [unowned self] in now }, wallClock: { [unowned self] in wallClock }, localTime: \.description,
      timeAsleep: { [unowned self] in asleep },
      wake: { [unowned self] moment, handler in if !life.isDead { alarm = moment.map { (at: $0, handler: handler) } } })
  }

  private func machine(of life: SimulatedLife) -> MachinePlatform {
    MachinePlatform(
      observe: { [unowned self] _ throws(PlatformError) in observe() },
      observeResolver: { [unowned self] _ in ResolverObservation(file: state.observed.resolvConf, resolver: state.observed.resolver) },
      apply: { [unowned self] steps in steps.compactMap { step in pass("\(step)", by: life) { self.apply(step) } ?? nil } },
      begin: { [unowned self] step, done in begin(step, by: life, then: done) }, endUserspaceLink: { _ in },
      wireGuardEngine: { [unowned self] in engine },
      readDevice: { [unowned self] link in
        samples += 1
        answerDevices()
        return state.observed.wireGuard[link]
      }, controlGroup: { _ in nil })
  }

  private func network(of life: SimulatedLife) -> NetworkPlatform {
    NetworkPlatform(
      resolve: { [unowned self] name, servers, link, done in
        lookups.append("\(name) on \(link ?? "-") by \(servers.map(\.description).joined(separator: ","))")
        if servers.contains(where: silentServers.contains) {
          let run = ProbeInFlight()
          arrivals.append((at: now + .seconds(5), Arrival(run) { done(.failed(reason: "no name server answered in time")) }))
          return Cancellation(run)
        }
        let addresses = names[name] ?? otherNames.map { [$0] }
        soon(life) { done(addresses.map { .addresses($0) } ?? .failed(reason: "no such name")) }
        return nil
      },
      probe: { [unowned self] request, link, done in
        probes.append("\(request.url) on \(link.name)")
        guard let reply = probeReplies[request.url] else { return nil }
        let run = ProbeInFlight()
        arrivals.append((at: now + probeTime, Arrival(run) { done(reply) }))
        return Cancellation(run)
      },
      resolveNeighbour: { [unowned self] address, link in
        neighbourRequests.append("\(address) on \(link.name)")
        whenNeighbourIsAsked(address)
      })
  }

  /// What another program does takes a moment.
  private func begin(_ step: Step, by life: SimulatedLife, then done: @escaping (Result<Void, PlatformError>) -> Void) {
    if case .addWireGuardLink(let link, _) = step {
      pass("start the engine of \(link)", by: life) {
        soon(life) { [self] in
          pass("the engine of \(link) starts", by: life) { state.apply([step]) }
          if !life.isDead { done(.success(())) }
        }
      }
      return
    }
    resolverChanges.append(step)
    if let reason = failingSteps(step) { return soon(life) { done(.failure(PlatformError(reason))) } }
    // One that never answers.
    if resolverIsDeaf { return }
    soon(life) { [self] in
      pass("\(step)", by: life) { _ = apply(step) }
      guard let time = resolverTime else {
        if !life.isDead { done(.success(())) }
        return
      }
      let program = ProbeInFlight()
      arrivals.append((at: now + time, Arrival(program) { withExtendedLifetime(program) { if !life.isDead { done(.success(())) } } }))
    }
  }

  private var loaded: LoadedPolicies {
    var loaded = LoadedPolicies()
    loaded.policies = (trial != nil || isKept ? stagedPolicies : nil) ?? policies
    loaded.diagnostics = problems
    return loaded
  }

  /// One effect of an agent, with a place to die before and after it; `nil` where there was none, because it was dead.
  @discardableResult
  private func pass<Result>(_ what: String, by life: SimulatedLife, _ effect: () -> Result) -> Result? {
    if life.isDead { return nil }
    arrive(at: "before \(what)", life)
    if life.isDead { return nil }
    let result = effect()
    arrive(at: "after \(what)", life)
    return result
  }

  private func arrive(at place: String, _ life: SimulatedLife) {
    places.append(place)
    guard fuse?.place == places.count else { return }
    life.isDead = true
    alarm = nil
  }

  /// Whether the last agent was killed.
  package var isAgentDead: Bool { life.isDead }

  private func soon(_ life: SimulatedLife, _ body: @escaping () -> Void) { later.append { if !life.isDead { body() } } }

  private func recoveryLog(of life: SimulatedLife) -> RecoveryLog {
    RecoveryLog(
      unfinishedLinks: { [unowned self] in unfinishedLinks },
      noteLink: { [unowned self] link in pass("note \(link)", by: life) { _ = unfinishedLinks.insert(link) } },
      forgetLink: { [unowned self] link in pass("forget \(link)", by: life) { _ = unfinishedLinks.remove(link) } },
      startedCommands: { [unowned self] in startedCommands },
      noteCommand: { [unowned self] tunnel, command in pass("note the command of \(tunnel)", by: life) { startedCommands[tunnel] = command }
      },
      forgetCommand: { [unowned self] tunnel in pass("forget the command of \(tunnel)", by: life) { startedCommands[tunnel] = nil } },
      overrides: { [unowned self] in savedOverrides },
      saveOverrides: { [unowned self] overrides in pass("note holds", by: life) { savedOverrides = overrides } },
      troubles: { [] })
  }

  private func trials(of life: SimulatedLife) -> PolicyTrials {
    PolicyTrials(
      current: { [unowned self] in trial },
      stage: { [unowned self] _ in
        var loaded = LoadedPolicies()
        loaded.policies = stagedPolicies ?? policies
        return loaded
      },
      begin: { [unowned self] moment throws(PlatformError) in pass("begin a trial", by: life) { trial = PolicyTrial(until: moment) } },
      keep: { [unowned self] () throws(PlatformError) in
        pass("keep what is on trial", by: life) {
          isKept = true
          trial = nil
        }
      },
      drop: { [unowned self] in pass("end the trial", by: life) { trial = nil } })
  }

  private func observe() -> Observation {
    observations += 1
    answerDevices()
    var snapshot = network
    if let time = localTime { snapshot.time = .known(time) }
    var observed = state.observed
    observed.unfinishedLinks = observed.kernel.unfinished(among: unfinishedLinks)
    return Observation(snapshot: snapshot, state: observed)
  }

  private func answerDevices() {
    if let peers {
      for (link, device) in state.observed.wireGuard {
        var device = device
        peers.show(link, &device)
        state.show(device, on: link)
      }
      return
    }
    guard peersAnswer, network.primary != nil else { return }
    for (link, device) in state.observed.wireGuard
    where device.peers.contains(where: { $0.persistentKeepalive > 0 && $0.lastHandshake == 0 }) {
      state.answer(on: link, at: wallClock.seconds)
    }
  }

  private func apply(_ step: Step) -> StepFailure? {
    if let reason = failingSteps(step) { return StepFailure(step: step, reason: reason) }
    applied.append(step)
    state.apply([step])
    switch step {
    case .configureWireGuard(let link, let device): peers?.configure(link, device, anew: false, at: now)
    case .renewSessions(let link, let device):
      renewals += 1
      peers?.configure(link, device, anew: true, at: now)
    case .deleteLink(let link, _): peers?.remove(link)
    default: break
    }
    whenApplied(step)
    return nil
  }

  /// A command makes and removes its link itself.
  private func run(
    _ action: CommandAction, _ tunnel: String, _ command: CommandProviderConfiguration, by life: SimulatedLife,
    then done: @escaping (CommandOutcome) -> Void
  ) {
    pass("\(tunnel) \(action.rawValue)", by: life) {
      commands.append("\(tunnel) \(action.rawValue)")
      if action == .up { running.insert(tunnel) }
      if action == .down { running.remove(tunnel) }
      guard let link = command.interface else { return }
      let isThere = state.observed.kernel.link(named: link) != nil
      if action == .up, !isThere { state.apply([.addWireGuardLink(link, .userspace), .setUp(link: link)]) }
      if action == .down, isThere { state.apply([.deleteLink(link, .userspace)]) }
    }
    let usual: CommandOutcome = action == .status && !peersAnswer ? .failed(reason: "not connected") : .succeeded
    let results = commandResults[action] ?? [usual]
    if results.count > 1 { commandResults[action] = Array(results.dropFirst()) }
    guard let time = commandTimes[action] else { return soon(life) { done(results[0]) } }
    let inFlight = ProbeInFlight()
    arrivals.append((at: now + time, Arrival(inFlight) { withExtendedLifetime(inFlight) { if !life.isDead { done(results[0]) } } }))
  }
}

extension LocalTime {
  /// Since Monday's midnight.
  fileprivate var secondOfWeek: Int { (day.rawValue - 1) * 86_400 + second }
}

/// Kept by whoever has sent it; dropping it ends it.
private final class ProbeInFlight {}

/// An answer on its way.
private struct Arrival {
  private weak var run: ProbeInFlight?
  private let handler: () -> Void

  init(_ run: ProbeInFlight, _ handler: @escaping () -> Void) {
    self.run = run
    self.handler = handler
  }

  var isGone: Bool { run == nil }

  func arrive() { if !isGone { handler() } }
}
