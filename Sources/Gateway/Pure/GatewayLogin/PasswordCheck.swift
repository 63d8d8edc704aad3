import LoginProtocol
import NetworkTypes

extension LoginConversation {
  struct PasswordCheck {
    var hello: LoginHello
    /// As it was given.
    var name: String
    /// The last message of the client.
    var since: Moment
    var factors: [LoginMethod] = [.password]
    var judge = Judge.gateway

    enum Judge {
      case gateway
      /// A service of the network, for this name.
      case service
      /// The same for a name without a user: the gateway has refused the password.
      case serviceForDecoy
    }
  }

  /// Of the first question of a service that checks passwords.
  static let questionAnswerInterval = Duration.seconds(1)

  /// Whether a service of the network checks passwords.
  private var hasService: Bool { passwordInterval != Self.answerInterval }

  mutating func receive(
    _ answer: LoginAnswer, of check: PasswordCheck, _ limits: inout LoginLimits, at now: Moment
  ) -> [LoginEffect] {
    var check = check
    switch answer {
    case .account where check.judge == .serviceForDecoy: return end(.failed(.wrong, retryAfter: 0), check, now)
    case .account(let account):
      if account.needsCode {
        // The password was right and is no failure, but the login is not at its end: what was counted before stays.
        limits.withdraw(check.name, from: address)
      } else {
        limits.succeed(check.name, from: address, at: now)
      }
      let session = Session(hello: check.hello, account: account, name: check.name, factors: check.factors)
      return identified(session, since: check.since, at: now)
    case .prompt(let text, let echo):
      guard check.hello.methods.contains(.prompt) else { return hold(.failed(.unsupported, retryAfter: 0), check.since, now, .close) }
      // The gateway's own hash has taken its time before the first question: the longer interval hides it.
      let interval = hasService && check.factors == [.password] ? Self.questionAnswerInterval : Self.answerInterval
      return hold(.prompt(text: text, echo: echo), check.since, now, .prompt(check), interval: interval)
    case .refused(let refusal):
      switch check.judge {
      case .gateway where hasService:
        check.judge = .serviceForDecoy
        state = .checkingPassword(check)
        return [.record(refusal, name: check.name), .checkDecoy]
      case .gateway, .service: return [.record(refusal, name: check.name)] + end(.failed(.wrong, retryAfter: 0), check, now)
      case .serviceForDecoy: return end(.failed(.wrong, retryAfter: 0), check, now)
      }
    case .unavailable, .busy:
      let message = GatewayMessage.failed(answer == .busy ? .later : .unavailable, retryAfter: answer == .busy ? 5 : 15)
      if check.judge == .gateway {
        limits.withdraw(check.name, from: address)
        state = .closed
        return [.send(message), .close]
      }
      // It counts for each name alike: of some, a wrong password was refused before.
      limits.shorten(check.name, from: address)
      return end(message, check, now)
    default: return []
    }
  }

  /// The password is checked by the service, not by the gateway.
  package mutating func passOn() {
    guard case .checkingPassword(var check) = state else { return }
    check.judge = .service
    state = .checkingPassword(check)
  }

  /// Ends the check with a message, at the next multiple of the interval for passwords.
  private mutating func end(_ message: GatewayMessage, _ check: PasswordCheck, _ now: Moment) -> [LoginEffect] {
    hold(message, check.since, now, .close, interval: passwordInterval)
  }
}
