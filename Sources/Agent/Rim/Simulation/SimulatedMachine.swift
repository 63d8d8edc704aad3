package import AgentCore
package import KernelModel
package import NetworkTypes
internal import PolicySource
package import RoamwardCore

/// A machine in memory, whose clock moves only on request: networks, peers that answer or not, names that resolve or not.
///
/// The agent in it is the real one. `roamward simulate` and the agent's tests use it.
package final class SimulatedMachine {
  package var state = SimulatedState()
  package var network = NetworkSnapshot()
  package var policies = PolicySet()
  package var engine = EngineChoice.engine(.kernel)
  package var peersAnswer = true
  /// The peers of WireGuard links, instead of `peersAnswer`.
  package var peers: (any SimulatedPeers)?
  package var dns = SimulatedDNS()
  package var sending = SimulatedSending()
  package var probing = SimulatedProbing()
  package var neighbours = SimulatedNeighbours()
  package var programs = SimulatedPrograms()
  package var providers = SimulatedProviders()
  package var resolver = SimulatedResolver()
  package var disk = SimulatedDisk()
  package var clock = SimulatedClock()
  package var failingSteps: (Step) -> String? = { _ in nil }
  /// Whether nothing but the agent's own steps has changed since its last observation.
  package var isAsObserved: () -> Bool = { true }
  /// Called after each applied step.
  package var whenApplied: (Step) -> Void = { _ in }
  package private(set) var log = SimulatedLog()
  /// The effect at which the agent dies. Its pending work stops, until another one starts (`platform`).
  package var fuse: Fuse?
  /// Whether the machine can notice packets on a link.
  package var noticesPackets = true
  private var watchers: [WeakWatcher] = []
  package private(set) var questions = SimulatedQuestions()
  private var life = SimulatedLife()
  private var schedule = SimulatedSchedule()

  package init() {}

  /// Whether no timer is set: nothing happens without an external event.
  package var isIdle: Bool { schedule.isEmpty }

  package var now: Moment { clock.now }
  package var wallClock: Timestamp { clock.wallClock }
  package var localTime: LocalTime? { clock.localTime }

  /// Advances the clock, and runs everything that is due in that time, in order.
  package func run(for duration: Duration = .zero) { run(until: now + duration) }

  package func run(until end: Moment) {
    callBack()
    while let due = nextDue, due <= end {
      clock.now = max(now, due)
      if let next = peers?.nextEvent, next <= now {
        peers?.advance(to: now)
        callBack()
        continue
      }
      schedule.takeNext(at: now)?()
      callBack()
    }
    clock.now = max(now, end)
  }

  /// Makes the machine sleep: the clock advances, and nothing runs until it wakes.
  package func sleep(for time: Duration) {
    peers?.sleep(for: time, from: now)
    clock.now = now + time
    clock.asleep += time
  }

  private var nextDue: Moment? { [schedule.nextDue, peers?.nextEvent].compactMap { $0 }.min() }

  private func callBack() {
    while !schedule.soon.isEmpty { schedule.soon.removeFirst()() }
  }

  // MARK: The platform

  /// The platform of a new agent; an earlier agent is dead from then on.
  package var platform: Platform {
    life.isDead = true
    let life = SimulatedLife()
    self.life = life
    schedule.soon = []
    schedule.alarm = nil
    return Platform(
      clock: clock(of: life), machine: machine(of: life), network: network(of: life),
      commands: CommandPlatform(
        run: { [unowned self] action, tunnel, command, _, done in run(action, tunnel, command, by: life, then: done) }, end: { _ in },
        cut: { _ in }),
      installed: installed(of: life), services: services(of: life),
      policies: PolicyPlatform(load: { [unowned self] in loaded }, trials: trials(of: life)),
      recoveryLog: recoveryLog(of: life),
      recordBlocking: { _ in })
  }

  private func clock(of life: SimulatedLife) -> ClockPlatform {
    ClockPlatform(
      now: { [unowned self] in now }, wallClock: { [unowned self] in wallClock }, localTime: \.description,
      timeAsleep: { [unowned self] in clock.asleep },
      wake: { [unowned self] moment, handler in if !life.isDead { schedule.alarm = moment.map { (at: $0, handler: handler) } } })
  }

  private func machine(of life: SimulatedLife) -> MachinePlatform {
    MachinePlatform(
      observe: { [unowned self] request throws(PlatformError) in
        log.request = request
        return observe(request)
      },
      observeResolver: { [unowned self] _ in ResolverObservation(file: state.observed.resolvConf, resolver: state.observed.resolver) },
      isAsObserved: { [unowned self] in isAsObserved() },
      apply: { [unowned self] steps in steps.compactMap { step in pass("\(step)", by: life) { self.apply(step) } ?? nil } },
      begin: { [unowned self] step, done in begin(step, by: life, then: done) }, endUserspaceLink: { _ in },
      wireGuardEngine: { [unowned self] in engine }, keepEngineReady: { life.isEngineReady = $0 && !life.isDead },
      readDevice: { [unowned self] link in
        log.samples += 1
        answerDevices()
        return state.observed.wireGuard[link]
      },
      watchPackets: { [unowned self] link, packets, came in
        guard noticesPackets else { return nil }
        let watch = PacketWatcher(link, packets) { if !life.isDead { came() } }
        watchers.removeAll { $0.watcher == nil }
        watchers.append(WeakWatcher(watcher: watch))
        return Cancellation(watch)
      }, countPackets: { [unowned self] in providers.packets[$0] },
      watchLookups: { [unowned self] came in questions.lookedUp = { if !life.isDead { came($0) } } },
      watchAnswers: { [unowned self] came in questions.report = { if !life.isDead { came($0) } } },
      connectedAddresses: { [unowned self] in dns.connected },
      portHolder: { [unowned self] port, _ in sending.portHolders[port].map { PortHolder(port: port, holder: $0) } },
      controlGroup: { [unowned self] in programs.controlGroups.contains($0) ? ControlGroup($0) : nil })
  }

  private func network(of life: SimulatedLife) -> NetworkPlatform {
    NetworkPlatform(
      resolve: { [unowned self] name, way, done in
        dns.lookups.append("\(name) on \(way.link ?? "-") by \(way.servers.map(\.description).joined(separator: ","))")
        if way.servers.contains(where: dns.silentServers.contains) {
          let run = AnswerInFlight()
          schedule.add(at: now + .seconds(5), unlessGone: run) { done(.failed(reason: "no name server answered in time")) }
          return Cancellation(run)
        }
        let addresses = dns.names[name] ?? dns.otherNames.map { [$0] }
        soon(life) { done(addresses.map { .addresses($0) } ?? .missing(reason: "no such name")) }
        return nil
      },
      probe: { [unowned self] request, link, done in
        probing.requests.append("\(request.url) on \(link.name)")
        guard let reply = probing.replies[request.url] else { return nil }
        let run = AnswerInFlight()
        schedule.add(at: now + probing.time, unlessGone: run) { done(reply) }
        return Cancellation(run)
      },
      resolveNeighbour: { [unowned self] address, link in
        neighbours.requests.append("\(address) on \(link.name)")
        neighbours.whenAsked(address)
      }, tryEndpoint: { [unowned self] address, _, _ in sending.trial(of: address) }, leave: { [unowned self] in probing.departures += 1 })
  }

  /// Begins a step of another program, which takes some time, unless an engine is ready.
  private func begin(_ step: Step, by life: SimulatedLife, then done: @escaping (Result<Void, PlatformError>) -> Void) {
    if case .addWireGuardLink(let link, _) = step {
      if isEngineReady {
        life.isEngineReady = false
        pass("start the engine of \(link) at once", by: life) { state.apply([step]) }
        if !life.isDead { done(.success(())) }
        return
      }
      pass("start the engine of \(link)", by: life) {
        soon(life) { [self] in
          pass("the engine of \(link) starts", by: life) { state.apply([step]) }
          if !life.isDead { done(.success(())) }
        }
      }
      return
    }
    resolver.changes.append(step)
    if let reason = failingSteps(step) { return soon(life) { done(.failure(PlatformError(reason))) } }
    // A resolver that never answers.
    if resolver.isDeaf { return }
    soon(life) { [self] in
      pass("\(step)", by: life) { _ = apply(step) }
      guard let time = resolver.time else {
        if !life.isDead { done(.success(())) }
        return
      }
      let program = AnswerInFlight()
      schedule.add(at: now + time, unlessGone: program) { withExtendedLifetime(program) { if !life.isDead { done(.success(())) } } }
    }
  }

  private var loaded: LoadedPolicies {
    var loaded = LoadedPolicies()
    loaded.policies = (disk.trial != nil || disk.isTrialKept ? disk.stagedPolicies : nil) ?? policies
    loaded.diagnostics = disk.problems
    return loaded
  }

  /// Runs one effect of an agent, with a place to die before and after it; returns `nil` if the agent was dead.
  @discardableResult
  func pass<Result>(_ what: String, by life: SimulatedLife, _ effect: () -> Result) -> Result? {
    if life.isDead { return nil }
    arrive(at: "before \(what)", life)
    if life.isDead { return nil }
    let result = effect()
    arrive(at: "after \(what)", life)
    return result
  }

  private func arrive(at place: String, _ life: SimulatedLife) {
    log.places.append(place)
    guard fuse?.place == log.places.count else { return }
    life.isDead = true
    schedule.alarm = nil
  }

  /// Whether the agent keeps an engine ready for the next tunnel.
  package var isEngineReady: Bool { life.isEngineReady && !life.isDead }

  /// Whether the last agent was killed.
  package var isAgentDead: Bool { life.isDead }

  func soon(_ life: SimulatedLife, _ body: @escaping () -> Void) { schedule.soon.append { if !life.isDead { body() } } }

  private func recoveryLog(of life: SimulatedLife) -> RecoveryLog {
    RecoveryLog(
      unfinishedLinks: { [unowned self] in disk.unfinishedLinks },
      recordLink: { [unowned self] link in pass("note \(link)", by: life) { _ = disk.unfinishedLinks.insert(link) } },
      forgetLink: { [unowned self] link in pass("forget \(link)", by: life) { _ = disk.unfinishedLinks.remove(link) } },
      startedCommands: { [unowned self] in disk.startedCommands },
      recordCommand: { [unowned self] tunnel, command in
        pass("note the command of \(tunnel)", by: life) { disk.startedCommands[tunnel] = command }
      },
      forgetCommand: { [unowned self] tunnel in pass("forget the command of \(tunnel)", by: life) { disk.startedCommands[tunnel] = nil } },
      overrides: { [unowned self] in disk.overrides },
      saveOverrides: { [unowned self] overrides in pass("note holds", by: life) { disk.overrides = overrides } },
      troubles: { [unowned self] in log.tryNotes() },
      takeHandOver: { [unowned self] in
        pass("forget the hand-over", by: life) {
          defer { disk.handOver = HandOver() }
          return disk.handOver
        } ?? HandOver()
      }, recordHandOver: { [unowned self] handOver in pass("note the hand-over", by: life) { disk.handOver = handOver } },
      isBehind: { [unowned self] in disk.isFull }, latestTime: { [unowned self] in disk.latestTime })
  }

  private func trials(of life: SimulatedLife) -> PolicyTrials {
    PolicyTrials(
      current: { [unowned self] in disk.trial },
      stage: { [unowned self] _ in
        var loaded = LoadedPolicies()
        loaded.policies = disk.stagedPolicies ?? policies
        return loaded
      },
      begin: { [unowned self] moment throws(PlatformError) in pass("begin a trial", by: life) { disk.trial = PolicyTrial(until: moment) } },
      keep: { [unowned self] () throws(PlatformError) in
        pass("keep what is on trial", by: life) {
          disk.isTrialKept = true
          disk.trial = nil
        }
      },
      drop: { [unowned self] in pass("end the trial", by: life) { disk.trial = nil } })
  }

  private func observe(_ request: ObservationRequest) -> Observation {
    let needed = request.facts
    log.observations += 1
    answerDevices()
    var snapshot = network.keepingOnly(needed)
    if needed.contains(.time), let time = localTime { snapshot.time = .known(time) }
    var observed = state.observed
    observed.unfinishedLinks = observed.kernel.unfinished(among: disk.unfinishedLinks)
    // As on a real machine, a table that nobody asks for is not seen.
    if request.firewall == .nothing { observed.firewall = .absent }
    if request.nameCapture == .nothing { observed.nameCapture = .absent }
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
    where !state.silentLinks.contains(link) && device.peers.contains(where: { $0.persistentKeepalive > 0 && $0.lastHandshake == 0 }) {
      state.answer(on: link, at: wallClock.seconds)
    }
  }

  /// A program sends a packet into a link. Its device, if it is configured and up, asks for a session unless it has one.
  package func sendPacket(into link: String) {
    guard state.observed.kernel.link(named: link)?.isUp == true else { return }
    if let device = state.observed.wireGuard[link], peers == nil { state.show(sending(device, on: link), on: link) }
    recordPacket(on: link)
  }

  /// Reports a packet on a link to the agent.
  package func recordPacket(on link: String, isMulticast: Bool = false) {
    let hearing = watchers.compactMap(\.watcher).filter { $0.link == link && ($0.packets == .all || !isMulticast) }
    for watcher in hearing { schedule.soon.append { [weak watcher] in watcher?.came() } }
  }

  /// A program looks a name up. Our name server, if it watches for the name and its tunnel is down, asks the agent for the tunnel; an
  /// answer for a routed name waits for the agent. `resolvesOutside`: whether the network's servers resolve it. Returns the servers that
  /// get the question now.
  @discardableResult
  package func lookUp(_ name: DomainName, resolvesOutside: Bool = true, by asker: NameLookup.Asker? = nil) -> [IPAddress] {
    guard case .running(let settings) = state.observed.resolver.nameServer else { return [] }
    let (servers, lookup) = questions.way(of: name, isResolved: resolvesOutside, by: settings, asker: asker)
    if let lookup { schedule.soon.append { [self] in questions.lookedUp(lookup) } }
    if !servers.isEmpty, settings.routed.contains(where: name.isWithin), let addresses = dns.names[name] ?? dns.otherNames.map({ [$0] }) {
      let answer = RoutedAnswer(name: name.text, addresses: addresses, lifetime: .seconds(60))
      schedule.soon.append { [self] in
        questions.report(.answered(answer) { [self] isRouted in if isRouted { questions.given.append(answer) } })
      }
    }
    return settings.watch(for: name) == nil ? [] : servers
  }

  private func sending(_ device: WireGuardState, on link: String) -> WireGuardState {
    var device = device
    for i in device.peers.indices where device.peers[i].endpoint != nil && network.primary != nil {
      let hasSession = device.peers[i].lastHandshake != 0
      device.peers[i].sentBytes += hasSession ? 128 : 148
      guard peersAnswer, !state.silentLinks.contains(link) else { continue }
      device.peers[i].receivedBytes += hasSession ? 128 : 92 + 128
      if hasSession { continue }
      device.peers[i].sentBytes += 128
      device.peers[i].lastHandshake = wallClock.seconds
    }
    return device
  }

  private func apply(_ step: Step) -> StepFailure? {
    if let reason = failingSteps(step) { return StepFailure(step: step, reason: reason) }
    log.applied.append(step)
    state.apply([step])
    switch step {
    case .configureWireGuard(let link, let device): peers?.configure(link, device, anew: false, at: now)
    case .renewSessions(let link, let device):
      log.renewals += 1
      peers?.configure(link, device, anew: true, at: now)
    case .deleteLink(let link, _): peers?.remove(link)
    default: break
    }
    whenApplied(step)
    return nil
  }

  /// Runs a command, which creates and removes its link itself.
  private func run(
    _ action: CommandAction, _ tunnel: String, _ command: CommandProviderConfiguration, by life: SimulatedLife,
    then done: @escaping (CommandOutcome) -> Void
  ) {
    pass("\(tunnel) \(action.rawValue)", by: life) {
      programs.runs.append("\(tunnel) \(action.rawValue)")
      programs.calls.append((tunnel, action, command))
      if action == .up { programs.running.insert(tunnel) }
      if action == .down { programs.running.remove(tunnel) }
      if action == .down, let unit = ServiceProviderConfiguration(stoppedBy: command) { end(unit, tunnel, by: life) }
      guard let link = command.interface else { return }
      let isThere = state.observed.kernel.link(named: link) != nil
      if action == .up, !isThere { state.apply([.addWireGuardLink(link, .userspace), .setUp(link: link)]) }
      if action == .down, isThere { state.apply([.deleteLink(link, .userspace)]) }
    }
    let usual: CommandOutcome = action == .status && !peersAnswer ? .failed(reason: "not connected") : .succeeded
    let results = programs.results[action] ?? [usual]
    if results.count > 1 { programs.results[action] = Array(results.dropFirst()) }
    guard let time = programs.times[action] else { return soon(life) { done(results[0]) } }
    let inFlight = AnswerInFlight()
    schedule.add(at: now + time, unlessGone: inFlight) { withExtendedLifetime(inFlight) { if !life.isDead { done(results[0]) } } }
  }
}

/// Notices packets on a link, until it is released.
private final class PacketWatcher {
  let link: String
  let packets: WatchedPackets
  let came: () -> Void

  init(_ link: String, _ packets: WatchedPackets, _ came: @escaping () -> Void) {
    self.link = link
    self.packets = packets
    self.came = came
  }
}

private struct WeakWatcher {
  weak var watcher: PacketWatcher?
}

extension LocalTime {
  /// Seconds since Monday's midnight.
  var secondOfWeek: Int { (day.rawValue - 1) * 86_400 + second }
}
