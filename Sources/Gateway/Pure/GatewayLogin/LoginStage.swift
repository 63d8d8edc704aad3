extension LoginConversation {
  /// The progress of a client's login. Of too many strangers in one network, the one with the least progress ends.
  package enum Stage: Int, Sendable {
    /// It has sent no whole message.
    case silent
    case greeted
    /// Its first factor is checked, or was refused.
    case checking
    /// A service has asked it something, or it is with the OpenID provider.
    case prompting
    case visiting
    /// It has proven the first factor.
    case proven
    case closed
  }

  package var stage: Stage {
    switch state {
    case .greeting: .silent
    case .identifying: .greeted
    case .checkingPassword, .checkingToken, .linking, .held(_, _, .close): .checking
    case .prompting, .held(_, _, .prompt): .prompting
    case .awaitingPage, .visiting: .visiting
    case .asking, .checkingCode, .settingPassword, .binding, .held(_, _, .ask): .proven
    case .closed: .closed
    }
  }
}
