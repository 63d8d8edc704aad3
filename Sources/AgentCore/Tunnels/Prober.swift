internal import ControlProtocol
internal import NetworkTypes
internal import RoamwardCore

/// Drives the probe machine: puts its questions to the world, and brings the answers back.
final class Prober {
  private(set) var machine: ProbeMachine
  private let world: World
  private let whenAnswered: () -> Void
  private var runs: [ProbeMachine.Token: AnyObject] = [:]
  /// Where requests leave.
  private var link: LinkFacts?

  init(world: World, check: ConnectivityCheck?, whenAnswered: @escaping () -> Void) {
    machine = ProbeMachine(check: check)
    self.world = world
    self.whenAnswered = whenAnswered
  }

  /// The network as the host's own sources see it, before what was found out about it is added.
  func attach(to network: NetworkSnapshot) {
    link = network.primaryLink
    perform(machine.attach(to: network, at: world.now()))
  }

  /// The machine has slept: nothing that was answered before is believed until it is answered anew.
  func wake() { perform(machine.wake(at: world.now())) }

  func want(_ evidence: Set<Evidence>) { perform(machine.want(evidence, at: world.now())) }

  private func perform(_ effects: [ProbeMachine.Effect]) {
    for effect in effects {
      switch effect {
      case .abort(let token): runs[token] = nil
      case .send(let token, let inquiry): send(token, inquiry)
      }
    }
  }

  private func send(_ token: ProbeMachine.Token, _ inquiry: Inquiry) {
    guard let link else { return }
    runs[token] = world.probe(inquiry.request, link) { [weak self] reply in
      guard let self else { return }
      runs[token] = nil
      if machine.take(reply.read(as: inquiry), for: token, at: world.now()) { whenAnswered() }
    }
  }
}

extension ProbeReply {
  /// A portal's API answers in JSON, with a boolean `captive` (RFC 8908 section 5).
  fileprivate func read(as inquiry: Inquiry) -> ProbeReply {
    guard case .portalAPI = inquiry, case .response(200, let body) = self, let isCaptive = (try? JSON(parsing: body))?["captive"]?.bool
    else {
      return self
    }
    return .portal(isCaptive: isCaptive)
  }
}
