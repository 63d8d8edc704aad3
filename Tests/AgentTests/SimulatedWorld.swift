import Agent
import ControlProtocol
import NetworkTypes
import PolicySource
import RoamwardCore
import TestKit

/// A machine in memory with a clock that only tests move: networks to be on, peers that answer or not, names that resolve or not.
final class SimulatedWorld {
  var state = SimulatedState()
  var network = NetworkSnapshot()
  var policies = PolicySet()
  var problems: [Diagnostic] = []
  var peersAnswer = true
  var engine = EngineChoice.engine(.kernel)
  var names: [DomainName: [IPAddress]] = [:]
  /// Results of a command's actions, in order; the last one stays.
  var commandResults: [CommandAction: [CommandOutcome]] = [:]
  var failingSteps: (Step) -> String? = { _ in nil }
  private(set) var commands: [String] = []
  private(set) var applied: [Step] = []
  private(set) var lookups: [String] = []
  private(set) var renewals = 0
  private(set) var observations = 0
  private(set) var events: [Event.Kind] = []
  private var now = Moment(nanoseconds: 0)
  private var alarm: (at: Moment, handler: () -> Void)?
  private var later: [() -> Void] = []
  private var startedCommands: [String: CommandProviderConfiguration] = [:]
  private var unfinishedLinks = Set<String>()
  private(set) var savedHolds: [String: Hold] = [:]

  /// An agent in this world; its events are gathered.
  func agent(settle: Duration = .milliseconds(500)) -> Reconciler {
    let agent = Reconciler(world: world, settle: settle)
    agent.tell = { [unowned self] in events.append($0) }
    return agent
  }

  /// Lets virtual time pass, with everything that falls due in it, in order.
  func run(for duration: Duration = .zero) {
    let end = now + duration
    settleCallbacks()
    while let due = alarm, due.at <= end {
      alarm = nil
      now = max(now, due.at)
      due.handler()
      settleCallbacks()
    }
    now = end
  }

  /// The machine moves to another network, and the kernel tells the agent.
  func move(to network: NetworkSnapshot, _ agent: Reconciler) {
    self.network = network
    agent.networkChanged()
    run(for: .seconds(1))
  }

  var states: [String] {
    events.compactMap { if case .state(let tunnel, _, let to, _) = $0 { "\(tunnel) \(to)" } else { nil } }
  }

  var isIdle: Bool { alarm == nil }

  func keepNotes(link: String) { unfinishedLinks.insert(link) }
  func keepNotes(command: String, _ configuration: CommandProviderConfiguration) { startedCommands[command] = configuration }

  private func settleCallbacks() {
    while !later.isEmpty { later.removeFirst()() }
  }

  private var world: World {
    World(
      now: { [unowned self] in now }, wallClock: { [unowned self] in Int64(now.nanoseconds / 1_000_000_000) + 1_000_000 },
      observe: { [unowned self] _ throws(WorldError) in
        observations += 1
        if peersAnswer, network.primary != nil {
          for (link, device) in state.observed.wireGuard
          where device.peers.contains(where: { $0.persistentKeepalive > 0 && $0.lastHandshake == 0 }) {
            state.answer(on: link, at: 1_000_000)
          }
        }
        var observed = state.observed
        observed.unfinishedLinks = unfinishedLinks
        return Observation(snapshot: network, state: observed)
      },
      apply: { [unowned self] steps in
        steps.compactMap { step in
          if let reason = failingSteps(step) { return StepFailure(step: step, reason: reason) }
          applied.append(step)
          state.apply([step])
          return nil
        }
      },
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
        let addresses = names[name]
        later.append { done(addresses.map { .addresses($0) } ?? .failed(because: "no such name")) }
        return nil
      },
      run: { [unowned self] action, tunnel, _, done in
        commands.append("\(tunnel) \(action.rawValue)")
        let results = commandResults[action] ?? [.succeeded]
        if results.count > 1 { commandResults[action] = Array(results.dropFirst()) }
        later.append { done(results[0]) }
      },
      loadPolicies: { [unowned self] in
        var loaded = LoadedPolicies()
        loaded.policies = policies
        loaded.diagnostics = problems
        return loaded
      },
      journal: Journal(
        unfinishedLinks: { [unowned self] in unfinishedLinks }, noteLink: { [unowned self] in unfinishedLinks.insert($0) },
        forgetLink: { [unowned self] in unfinishedLinks.remove($0) }, startedCommands: { [unowned self] in startedCommands },
        noteCommand: { [unowned self] in startedCommands[$0] = $1 }, forgetCommand: { [unowned self] in startedCommands[$0] = nil },
        holds: { [unowned self] in savedHolds }, saveHolds: { [unowned self] in savedHolds = $0 }),
      wake: { [unowned self] moment, handler in alarm = moment.map { (at: $0, handler: handler) } })
  }
}
