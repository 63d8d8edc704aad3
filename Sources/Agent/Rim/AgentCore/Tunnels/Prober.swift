internal import ControlProtocol
internal import JSON
internal import RoamwardCore

/// Drives the probe machine: sends its queries to the network, and returns the answers.
final class Prober {
  private(set) var machine: ProbeMachine
  private let platform: Platform
  /// Called with the answer as a word.
  var whenAnswered: (String) -> Void = { _ in }
  private var runs: [ProbeMachine.Token: Cancellation] = [:]
  /// The link from which requests are sent.
  private var link: LinkFacts?

  init(_ platform: Platform, check: ConnectivityCheck?) {
    machine = ProbeMachine(check: check)
    self.platform = platform
  }

  /// Sets the network as the host's own sources report it, before results of probes are added.
  func attach(to network: NetworkSnapshot) {
    link = network.primaryLink
    follow { $0.attach(to: network, at: platform.clock.now()) }
  }

  /// Handles wake-up: earlier answers count only after a new query confirms them.
  func wake() { follow { $0.wake(at: platform.clock.now()) } }

  private func follow(_ change: (inout ProbeMachine) -> [ProbeMachine.Effect]) {
    let attachment = machine.attachment
    perform(change(&machine))
    if machine.attachment != attachment { platform.network.leave() }
  }

  func want(_ evidence: Set<Evidence>) { perform(machine.want(evidence, at: platform.clock.now())) }

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
    runs[token] = platform.network.probe(inquiry.request, link) { [weak self] reply in
      guard let self else { return }
      runs[token] = nil
      if machine.take(reply.read(as: inquiry), for: token, at: platform.clock.now()) {
        whenAnswered(machine.word(of: inquiry))
      }
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
