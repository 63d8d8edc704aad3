package import AgentCore
package import ControlProtocol
internal import NetworkTypes

/// Decides on the requests of the local socket and of D-Bus, with polkit's answers.
package final class Gatekeeper {
  /// A request that waits for polkit. It ends without an answer when this value is released.
  package final class Pending {
    fileprivate var cancel: () -> Void = {}
    deinit { cancel() }
  }

  private let polkit: PolkitAuthority
  package let hidden = HiddenTunnels()
  /// The requests that wait: they are refused when the bus ends the connection.
  private var waiting: [Int: () -> Void] = [:]
  private var last = 0

  package init(_ polkit: PolkitAuthority) { self.polkit = polkit }

  /// The part of reports and events that a caller may know of.
  package func view(of agent: Agent, for caller: Caller) -> Visibility { hidden.view(of: agent, for: caller) }

  /// Calls back with `nil` if the caller has the right, or with the refusal; at once, or later. Keep what it returns until then.
  package func decide(_ question: RightsQuestion, then done: @escaping (RequestError?) -> Void) -> Pending {
    let pending = Pending()
    proceed(question, question.decision(), pending, done)
    return pending
  }

  /// Refuses the requests that wait for an answer over a connection that has ended.
  package func busClosed() {
    polkit.forget()
    let waiting = waiting
    self.waiting = [:]
    for number in waiting.keys.sorted() { waiting[number]?() }
  }

  private func proceed(
    _ question: RightsQuestion, _ decision: RightsDecision, _ pending: Pending, _ done: @escaping (RequestError?) -> Void
  ) {
    switch decision {
    case .allowed: done(nil)
    case .refused(let error): done(error)
    case .askPolkit(let isInteractive):
      guard let action = question.right.polkitAction else { return }
      last += 1
      let number = last
      let take: (PolkitAnswer) -> Void = { [weak self, weak pending] answer in
        guard let self else { return }
        waiting[number] = nil
        guard let pending else { return }
        pending.cancel = {}
        proceed(question, question.decision(after: answer, wasInteractive: isInteractive), pending, done)
      }
      waiting[number] = { take(.failed("the system bus has ended the connection; try again")) }
      let cancel = polkit.ask(action, about: question.caller, interactively: isInteractive, then: take)
      // An answer may have come already.
      guard waiting[number] != nil else { return }
      pending.cancel = { [weak self] in
        self?.waiting[number] = nil
        cancel()
      }
    }
  }
}
