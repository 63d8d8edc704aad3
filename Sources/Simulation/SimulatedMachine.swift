package import Agent
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
  package var failingSteps: (Step) -> String? = { _ in nil }
  /// The clock on the wall at the beginning; with it snapshots carry the time.
  package var start: LocalTime?
  package private(set) var commands: [String] = []
  package private(set) var applied: [Step] = []
  package private(set) var resolverChanges: [Step] = []
  package var resolverIsDeaf = false
  package private(set) var lookups: [String] = []
  package private(set) var renewals = 0
  package private(set) var observations = 0
  package var unfinishedLinks = Set<String>()
  package var startedCommands: [String: CommandProviderConfiguration] = [:]
  package var savedHolds: [String: Hold] = [:]
  package private(set) var now = Moment(nanoseconds: 0)
  /// By how many seconds the clock on the wall has been set forwards.
  private var stepped: Int64 = 0
  private var alarm: (at: Moment, handler: () -> Void)?
  private var later: [() -> Void] = []
  private var arrivals: [(at: Moment, Arrival)] = []

  package init() {}

  /// No timer is set: nothing happens until something from outside does.
  package var isIdle: Bool { alarm == nil && arrivals.allSatisfy { $0.1.isGone } }

  /// Seconds since 1970; the simulation begins at a round one.
  package var wallClock: Int64 { Int64(now.nanoseconds / 1_000_000_000) + 1_000_000 + stepped }

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

  private var nextDue: Moment? {
    arrivals.removeAll { $0.1.isGone }
    return [alarm?.at, arrivals.map(\.at).min()].compactMap { $0 }.min()
  }

  private func callBack() {
    while !later.isEmpty { later.removeFirst()() }
  }

  // MARK: The world

  package var world: World {
    var world = World(
      now: { [unowned self] in now }, wallClock: { [unowned self] in wallClock },
      observe: { [unowned self] _ throws(WorldError) in observe() }, apply: { [unowned self] in $0.compactMap(apply) },
      startUserspaceLink: { [unowned self] link, done in
        later.append { [self] in
          state.apply([.addWireGuardLink(link, .userspace)])
          done(nil)
        }
      }, endUserspaceLink: { _ in },
      renewSessions: { [unowned self] link, device in
        renewals += 1
        state.configure(link, device, anew: true)
        return nil
      }, wireGuardEngine: { [unowned self] in engine },
      resolve: { [unowned self] name, servers, link, done in
        lookups.append("\(name) on \(link ?? "-") by \(servers.map(\.description).joined(separator: ","))")
        let addresses = names[name] ?? otherNames.map { [$0] }
        later.append { done(addresses.map { .addresses($0) } ?? .failed(because: "no such name")) }
        return nil
      }, run: { [unowned self] action, tunnel, _, done in run(action, tunnel, then: done) },
      loadPolicies: { [unowned self] in
        var loaded = LoadedPolicies()
        loaded.policies = policies
        loaded.diagnostics = problems
        return loaded
      }, journal: journal,
      wake: { [unowned self] moment, handler in alarm = moment.map { (at: $0, handler: handler) } })
    world.changeResolver = { [unowned self] step, done in
      resolverChanges.append(step)
      if let reason = failingSteps(step) { return later.append { done(reason) } }
      // One that never answers.
      if resolverIsDeaf { return }
      later.append { [self] in
        _ = apply(step)
        done(nil)
      }
    }
    world.probe = { [unowned self] request, link, done in
      probes.append("\(request.url) on \(link.name)")
      guard let reply = probeReplies[request.url] else { return nil }
      let run = ProbeInFlight()
      arrivals.append((at: now + probeTime, Arrival(run) { done(reply) }))
      return run
    }
    return world
  }

  private var journal: Journal {
    Journal(
      unfinishedLinks: { [unowned self] in unfinishedLinks }, noteLink: { [unowned self] in unfinishedLinks.insert($0) },
      forgetLink: { [unowned self] in unfinishedLinks.remove($0) }, startedCommands: { [unowned self] in startedCommands },
      noteCommand: { [unowned self] in startedCommands[$0] = $1 }, forgetCommand: { [unowned self] in startedCommands[$0] = nil },
      holds: { [unowned self] in savedHolds }, saveHolds: { [unowned self] in savedHolds = $0 })
  }

  private func observe() -> Observation {
    observations += 1
    if peersAnswer, network.primary != nil {
      for (link, device) in state.observed.wireGuard
      where device.peers.contains(where: { $0.persistentKeepalive > 0 && $0.lastHandshake == 0 }) {
        state.answer(on: link, at: wallClock)
      }
    }
    var snapshot = network
    if let time = localTime { snapshot.time = .known(time) }
    var observed = state.observed
    observed.unfinishedLinks = unfinishedLinks
    return Observation(snapshot: snapshot, state: observed)
  }

  private func apply(_ step: Step) -> StepFailure? {
    if let reason = failingSteps(step) { return StepFailure(step: step, reason: reason) }
    applied.append(step)
    state.apply([step])
    return nil
  }

  private func run(_ action: CommandAction, _ tunnel: String, then done: @escaping (CommandOutcome) -> Void) {
    commands.append("\(tunnel) \(action.rawValue)")
    let usual: CommandOutcome = action == .status && !peersAnswer ? .failed(because: "not connected") : .succeeded
    let results = commandResults[action] ?? [usual]
    if results.count > 1 { commandResults[action] = Array(results.dropFirst()) }
    later.append { done(results[0]) }
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
