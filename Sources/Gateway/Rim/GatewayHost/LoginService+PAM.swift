internal import GatewayCore
internal import GatewayLogin
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes

// Checks of passwords by PAM.
extension LoginService {
  func check(password: [UInt8], _ number: UInt32, _ source: IPAddress) {
    guard conversations[number] == nil else { return answer(number, .unavailable) }
    let refusal = pam.begin(password, number, from: source) { [weak self] in self?.take($0, of: $1, $2, number) }
    if let refusal { answer(number, refusal) }
  }

  /// The password of this login was refused here. What the service says of a name without a user is what the client sees.
  func checkDecoy(_ number: UInt32, _ source: IPAddress) {
    conversations[number] = nil
    let refusal = pam.beginDecoy(number, from: source) { [weak self] report, settings in
      switch report {
      case .accepted: self?.answer(number, .refused(.wrongPassword))
      case .hello, .prompt, .refused, .unavailable: self?.take(report, of: PAMLogins.decoy, settings, number)
      }
    }
    if let refusal { answer(number, refusal) }
  }

  private func take(_ report: PAMReport, of name: GatewayName?, _ settings: PAMSettings, _ number: UInt32) {
    switch report {
    case .prompt(let text, let echo): answer(number, .prompt(text: text, echo: echo))
    case .refused(let refusal): answer(number, .refused(refusal))
    case .unavailable(let text):
      logFailure("the PAM service \(settings.service): \(text)")
      answer(number, .unavailable)
    case .accepted(let notes): if let name { accept(name, settings, notes, number) }
    case .hello: break
    }
  }

  /// For the audit log: an account whose name a user has, who is not linked to it.
  func pamDetail(_ name: String) -> String {
    guard let settings = pam.settings, let name = GatewayName(name) else { return "" }
    return SignInRefusal.notLinked.detail(SignedInPerson(subject: settings.subject(of: name), name: name))
  }

  /// The password is right; whether that person may log in here is decided now, after the same time for every name.
  private func accept(_ name: GatewayName, _ settings: PAMSettings, _ notes: String, _ number: UInt32) {
    let person = SignedInPerson(subject: settings.subject(of: name), name: name)
    let directory = directory()
    if let refusal = directory.refusal(of: person, creating: settings.createsUsers, at: Timestamp.now.seconds) {
      return answer(number, .refused(LoginRefusal(refusal)))
    }
    // A password of the gateway's own was set meanwhile.
    let user = directory.user(of: person)
    if let user, directory.credential(of: user.id)?.password.isEmpty == false { return answer(number, .refused(.otherPerson)) }
    let texts = banner(with: notes)
    change(number, refused: .refused(.unknownName)) { work throws(GatewayError) in
      let user = try work.signIn(person, creating: settings.createsUsers)
      let hasCode = work.directory.credential(of: user.id)?.codeSecret.isEmpty == false
      return .account(LoginAccount(user: user.id, questions: (hasCode ? [.code] : []) + texts))
    }
  }
}
