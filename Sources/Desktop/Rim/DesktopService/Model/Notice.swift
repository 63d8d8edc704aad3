/// A notification for a person. Ordinary connects and disconnects have none.
package struct Notice: Hashable, Sendable {
  /// One notification of a kind is shown at a time; a later one replaces it.
  package enum Kind: Hashable, Sendable {
    case blocked, portal, refused
    /// Of the tunnel of this name.
    case failed(String), question(String)
  }

  package var kind: Kind
  package var summary: String
  package var text: String
  /// The labels of its buttons, in order.
  package var actions: [AgentAction] = []

  /// The notices that are right for a state.
  package static func due(_ view: AgentView?) -> [Notice] {
    guard let view else { return [] }
    var notices: [Notice] = []
    let opens = view.situation == "guarded" ? [AgentAction.openPortal] : []
    if view.isBlocking {
      notices.append(
        Notice(kind: .blocked, summary: "VPN: traffic is blocked", text: view.killSwitchText, actions: opens + [.suspend]))
    }
    if view.isPortal, view.situation != "portal" {
      notices.append(
        Notice(
          kind: .portal, summary: "This network wants you to sign in",
          text: opens.isEmpty ? "Open any page in the browser." : "The kill switch blocks its page until you open the web for it.",
          actions: opens))
    }
    for tunnel in view.tunnels {
      if let question = tunnel.questions.first {
        notices.append(
          Notice(
            kind: .question(tunnel.name), summary: "\(tunnel.name) asks: \(question.prompt)",
            text: "Run `roamward answer \(tunnel.name)` in a terminal."))
      } else if curable.contains(tunnel.failureCode), !tunnel.failure.isEmpty {
        notices.append(Notice(kind: .failed(tunnel.name), summary: "\(tunnel.name) does not connect", text: tunnel.failure))
      }
    }
    return notices
  }

  /// Reason codes of failures that a person can remedy (docs/operations.md).
  private static let curable: Set<String> = [
    "action-needed", "clock-behind", "engine-missing", "link-taken", "mark-unavailable", "overlap-refused", "port-taken", "send-refused",
  ]
}

extension AgentAction {
  /// The label of a notification's button.
  package var button: String {
    switch self {
    case .openPortal: "Open the web to sign in"
    case .suspend: "Suspend the kill switch"
    case .up, .down, .resume, .resumeAll: "Resume"
    }
  }
}
