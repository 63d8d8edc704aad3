import AgentCore
import ControlProtocol
import JSON
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// An agent in a simulated machine, with what it told.
final class WatchedAgent {
  let machine = SimulatedMachine()
  private(set) var events: [Event.Kind] = []
  var whenTold: (Event.Kind) -> Void = { _ in }
  /// The control groups of guards, if the machine has any.
  var guards: GuardPlatform?
  /// The control groups of programs with a route of their own, if the machine has any.
  var programs: ProgramPlatform?
  private(set) lazy var agent = make()

  convenience init(_ tunnels: TunnelPolicy..., on network: NetworkSnapshot) { self.init(tunnels, on: network) }

  init(_ tunnels: [TunnelPolicy], on network: NetworkSnapshot) {
    machine.policies = PolicySet(tunnels: tunnels)
    machine.network = network
  }

  func start(for duration: Duration = .seconds(1)) {
    agent.start()
    machine.run(for: duration)
  }

  /// The machine moves to another network, and the kernel tells the agent.
  func move(to network: NetworkSnapshot) {
    machine.network = network
    agent.networkChanged()
    machine.run(for: .seconds(1))
  }

  func policiesChange(to tunnels: TunnelPolicy...) {
    machine.policies = PolicySet(tunnels: tunnels)
    agent.policiesChanged()
    machine.run(for: .seconds(1))
  }

  var status: StatusReport { agent.status(at: 0, process: 1) }

  func tunnel(_ name: String = "corp") throws -> StatusReport.Tunnel { try #require(status.tunnels.first { $0.name == name }) }

  var states: [String] {
    events.compactMap { if case .state(let tunnel, _, let to, _, _) = $0 { "\(tunnel) \(to)" } else { nil } }
  }

  /// The warnings of providers' logs, and of the agent beside them.
  var warnings: [String] {
    events.compactMap { if case .providerLog(_, "warning", _, let text) = $0 { text } else { nil } }
  }

  var failures: [String] {
    events.compactMap { if case .failure(let tunnel, let reason) = $0 { "\(tunnel): \(reason)" } else { nil } }
  }

  /// `release 5000`: set, with what is left of it in milliseconds; `release -`: it will not come.
  var timers: [String] {
    events.compactMap {
      if case .timer(_, let what, _, let milliseconds) = $0 { "\(what) \(milliseconds.map(String.init) ?? "-")" } else { nil }
    }
  }

  /// Forgets what was told.
  func forget() { events = [] }

  private func make() -> Agent {
    var platform = machine.platform
    if let guards { platform.guards = guards }
    if let programs { platform.programs = programs }
    let agent = Agent(platform: platform, settle: .milliseconds(500))
    agent.announcer.receive = { [unowned self] in
      events.append($0)
      whenTold($0)
    }
    return agent
  }
}

extension StatusReport {
  /// As it comes out at the other end of the socket.
  var coded: StatusReport { get throws { try JSON(parsing: JSON(encoding: self).text().utf8).decoded() } }
}
