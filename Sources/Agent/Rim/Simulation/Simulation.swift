internal import AgentCore
package import ControlProtocol
internal import NetworkTypes
package import RoamwardCore

/// Runs a timeline: the real agent in a simulated machine, a week of travel in milliseconds.
package final class Simulation {
  /// An event with its time.
  package struct Entry: Sendable {
    /// The time since the start.
    package let at: Duration
    package let clock: LocalTime
    package let event: Event.Kind
  }

  /// An expectation of the timeline that was not met.
  package struct Failure: Equatable, Sendable {
    package let location: SourceLocation
    package let message: String
  }

  private let machine = SimulatedMachine()
  private let timeline: Timeline
  private let agent: Agent
  private var failures: [Failure] = []
  private let publish: (Entry) -> Void

  /// `publish` receives every event, in order. Names resolve, and peers answer until the timeline says otherwise.
  package init(_ timeline: Timeline, policies: PolicySet, settle: Duration = .milliseconds(500), publish: @escaping (Entry) -> Void) {
    self.timeline = timeline
    self.publish = publish
    machine.policies = policies
    machine.clock.start = timeline.start
    machine.dns.otherNames = IPAddress("192.0.2.254")
    machine.state.installNameServer()
    agent = Agent(platform: machine.platform, settle: settle)
  }

  /// Runs to the timeline's last step, and returns the expectations that were not met.
  package func run() -> [Failure] {
    agent.announcer.receive = { [unowned self] event in
      let elapsed = machine.now - Moment(nanoseconds: 0)
      publish(Entry(at: elapsed, clock: machine.localTime ?? timeline.start, event: event))
    }
    // The first network exists when the agent starts.
    let first = timeline.steps.prefix { $0.at == .zero }
    for case .network(let network) in first.map(\.act) { machine.network = network }
    agent.start()
    for step in timeline.steps {
      machine.run(until: Moment(nanoseconds: 0) + step.at)
      act(step)
      machine.run()
    }
    return failures
  }

  /// The tunnel of this name, or the members of the group.
  private func meant(_ name: String) throws(RequestError) -> [TunnelPolicy] {
    let found = agent.policySet.tunnels(meant: name)
    if found.isEmpty { throw RequestError(code: .noSuchTunnel, message: "no tunnel is named \"\(name)\"") }
    return found
  }

  private func act(_ step: Timeline.Step) {
    do throws(RequestError) {
      switch step.act {
      case .network(let network):
        guard machine.network != network else { return }
        machine.network = network
        agent.networkChanged()
      case .override(let tunnel, let wantsUp, let lifetime, let reason):
        try agent.override(tunnel, OverrideRequest(wantsUp: wantsUp, until: lifetime.until, reason: reason))
      case .resume(let tunnel): try agent.resume(tunnel)
      case .peers(let answer): machine.peersAnswer = answer
      case .somePeers(let answers):
        for (name, answers) in answers.sorted(by: { $0.key < $1.key }) {
          for tunnel in try meant(name) {
            guard tunnel.provider.isWireGuard else {
              throw RequestError(code: .provider, message: "\(tunnel.name) is no WireGuard tunnel, whose peers `peers` could silence alone")
            }
            machine.state.set(tunnel.name, answers: answers)
          }
        }
      case .lookup(let name, let resolves, let addresses):
        if !addresses.isEmpty { machine.dns.names[name] = addresses }
        machine.lookUp(name, resolvesOutside: resolves)
      case .packet(let name):
        for tunnel in try meant(name) { machine.sendPacket(into: TunnelSetup.linkName(forTunnel: tunnel.name)) }
      case .clock(let time):
        machine.clock.set(to: time)
        agent.networkChanged()
      case .expect(let expectations): check(expectations, at: step.location)
      case .wait: break
      }
    } catch {
      failures.append(Failure(location: step.location, message: error.message))
    }
  }

  private func check(_ expectations: [String: Timeline.Expectation], at location: SourceLocation) {
    let tunnels = agent.status(at: machine.wallClock, process: 0).tunnels
    for (name, expected) in expectations.sorted(by: { $0.key < $1.key }) {
      // A group is what its member in use is.
      let tunnel = agent.turns[name]?.member ?? name
      guard let found = tunnels.first(where: { $0.name == tunnel }) else {
        failures.append(Failure(location: location, message: "no tunnel is named \"\(name)\""))
        continue
      }
      if let decision = expected.decision, decision != found.decision {
        fail("the decision", decision.rawValue, found.decision.rawValue)
      }
      if let state = expected.state, state != found.state { fail("the state", state, found.state) }
      func fail(_ what: String, _ wanted: String, _ is: String) {
        let message = "\(name): expected \(what) \(wanted), found \(`is`), because \(found.reason)"
        failures.append(Failure(location: location, message: message))
      }
    }
  }
}

extension Timeline.SaidLifetime {
  fileprivate var until: Lifetime {
    switch self {
    case .networkChange: .networkChange
    case .resume: .resume
    case .seconds(let seconds): .seconds(seconds)
    }
  }
}
