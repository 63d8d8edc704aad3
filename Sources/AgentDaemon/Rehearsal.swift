internal import AgentCore
internal import KernelModel
internal import LinuxIO
internal import NetworkTypes
internal import RoamwardCore
internal import Simulation
internal import SystemdIO

/// A start of a tunnel in memory, while the agent has nothing else to do. docs/decisions/0073
///
/// The Swift runtime creates a type at its first use, which takes up to a tenth of a millisecond, and a start uses many. Without a
/// rehearsal, the first start after that of the agent, usually that of the machine, takes a millisecond longer than later ones.
final class Rehearsal {
  /// After the engine's process was made ready, which has the processor first.
  private static let delay = Duration.milliseconds(50)

  private var isDue = true
  private var timer: EventSource?

  /// Rehearses the start of one of the policies' tunnels soon, once.
  func begin(on loop: EventLoop, _ policies: @escaping () -> PolicySet?) {
    guard isDue else { return }
    isDue = false
    timer = try? loop.at(.now + Self.delay) { [weak self] in
      self?.timer = nil
      if let policies = policies() { Self.run(policies) }
    }
  }

  /// The real agent in a simulated machine: a network comes, and the first WireGuard tunnel of the policies is connected there.
  static func run(_ policies: PolicySet) {
    guard var tunnel = policies.tunnels.first(where: { $0.isEnabled && $0.provider.isWireGuard }) else { return }
    tunnel.onDemand.rules = [Rule(action: .connect, location: tunnel.location)]
    tunnel.through = nil
    let machine = SimulatedMachine()
    machine.engine = .engine(.userspace)
    machine.policies = PolicySet(tunnels: [tunnel])
    machine.dns.otherNames = IPAddress("192.0.2.254")
    let agent = Agent(platform: machine.platform, settle: .zero)
    agent.start()
    machine.run(for: .seconds(1))
    machine.network = NetworkSnapshot(
      primary: "eth0",
      links: [
        LinkFacts(
          name: "eth0", type: .known(.ethernet), addresses: [InterfaceAddress("192.0.2.2/24")].compactMap { $0 },
          gateways: [IPAddress("192.0.2.1")].compactMap { $0 })
      ])
    agent.networkChanged()
    machine.run(for: .seconds(2))
    agent.stop {}
    machine.run(for: .seconds(1))
  }
}
