internal import GatewayCore
package import Lives
internal import LoginProtocol
package import NetworkTypes

/// The proofs of all conversations, by number: requests of `roamward-gateway-auth` and reports of services in, effects out. It has no clock
/// and no processes.
///
/// That process reads strangers' bytes, so what it asks is held to the order of a login: it binds a device only for the user whose
/// credential it has read in the same conversation, and behind the one-time code where the user has one.
package struct LoginProofs {
  private var proofs: [UInt32: LoginProof] = [:]

  package init() {}

  package var count: Int { proofs.count }

  /// A request, other than the process's hello.
  package mutating func receive(_ request: AuthRequest, _ view: LoginView) -> [LoginProofEffect] {
    switch request {
    case .hello: return []
    case .credential(let number, let name): return findPassword(of: name, number, view)
    case .token(let number, let hash): return findToken(hash, number, view)
    case .code(let number, let code):
      guard case .account(let account, _)? = proofs[number]?.phase else { return [.answer(number, .refused(.wrongCode))] }
      return [.checkCode(conversation: number, user: account.user, code)]
    case .setPassword(let number, let hash):
      guard let account = proofs[number]?.provenAccount, account.questions.contains(.newPassword) else {
        return [.answer(number, .unavailable)]
      }
      return [.setPassword(conversation: number, user: account.user, hash: hash)]
    case .bind(let number, let device, let key, let factors, let source):
      return bind(number, view) { account, proof in
        LoginBinding(
          account: account, userName: view.directory.users[account.user]?.name.description ?? "", device: device, publicKey: key,
          factors: factors, source: source, person: proof.unlinked?.person, since: proof.since)
      }
    case .record(let refusal, let name, let source):
      return [.record(refusal, name: name, source: source, detail: refusal == .notLinked ? Self.detail(name, view) : "")]
    case .ended(let number): return end(number)
    case .signIn(let number, let source): return signIn(number, source, view)
    case .password(let number, let password, let source): return check(password, number, source, view)
    case .decoy(let number, let source): return checkDecoy(number, source, view)
    case .promptAnswer(let number, let value):
      proofs[number]?.since = nil
      guard case .checking(let check)? = proofs[number]?.phase else { return [.answer(number, .unavailable)] }
      return [.answerPrompt(check.attempt, value)]
    }
  }

  /// The process that numbers conversations has ended. No attempt of theirs is known any more.
  package mutating func endAll() { proofs = [:] }

  /// The result of an effect.
  package mutating func finish(_ answer: LoginAnswer, _ number: UInt32, at now: Moment) -> [LoginProofEffect] {
    switch (proofs[number]?.phase, answer) {
    case (.account(let account, _)?, .accepted): proofs[number]?.phase = .account(account, hasCode: true)
    case (.account?, _): break
    // It ended while its result was stored.
    case (nil, _): return []
    case (.entering?, .account(let account)): proofs[number]?.phase = .account(account, hasCode: false)
    case (.binding(let binding)?, _):
      proofs[number]?.phase = .over
      return [.answer(number, answer)] + finish(binding, answer, number, at: now)
    case (.open?, _), (.named?, _), (.checking?, _), (.signingIn?, _), (.entering?, _), (.over?, _): proofs[number]?.phase = .over
    }
    return [.answer(number, answer)]
  }

  private mutating func finish(
    _ binding: LoginBinding, _ answer: LoginAnswer, _ number: UInt32, at now: Moment
  ) -> [LoginProofEffect] {
    switch answer {
    case .refused(.deviceLimit): return [.record(.deviceLimit, name: binding.userName, source: binding.source, detail: "")]
    case .bound:
      proofs[number]?.unlinked = nil
      let since = binding.account.questions.isEmpty ? binding.since : nil
      return [.count(binding.factors, milliseconds: since.map { Int64((now - $0) / .milliseconds(1)) })]
    default: return []
    }
  }

  /// Takes a conversation, or the one that it has; `nil`: there are too many.
  private func opened(_ number: UInt32) -> LoginProof? {
    proofs[number] ?? (proofs.count <= LoginTable.capacity ? LoginProof() : nil)
  }
}

// Proofs that the gateway has itself.
extension LoginProofs {
  private mutating func findPassword(of name: GatewayName, _ number: UInt32, _ view: LoginView) -> [LoginProofEffect] {
    let directory = view.directory
    // One name a conversation.
    guard !view.isAway, var proof = opened(number), case .open = proof.phase, proof.unlinked?.person.name ?? name == name else {
      return [.answer(number, .unavailable)]
    }
    proof.since = proof.since ?? view.moment
    defer { proofs[number] = proof }
    let user = directory.user(named: name)
    let credential = user.flatMap { directory.credential(of: $0.id) }
    let hash = credential?.password ?? ""
    // A sign-in is linked by a proof that the gateway itself has.
    if proof.unlinked == nil, view.pam != nil, hash.isEmpty {
      proof.phase = .named(name)
      return [.send(.remote(number: number))]
    }
    guard let user else { return [.send(.credential(number: number, hash: "", account: nil, refusal: .unknownName))] }
    let account = LoginAccount(user: user.id, questions: view.questions(of: credential))
    let refusal: LoginRefusal? =
      hash.isEmpty
      ? .noPassword : proof.unlinked?.refusal == .otherPerson ? .otherPerson : user.isActive(at: view.now) ? nil : .lockedUser
    if refusal == nil { proof.phase = .account(account, hasCode: false) }
    return [.send(.credential(number: number, hash: hash, account: account, refusal: refusal))]
  }

  private mutating func findToken(_ hash: [UInt8], _ number: UInt32, _ view: LoginView) -> [LoginProofEffect] {
    let directory = view.directory
    guard !view.isAway, var proof = opened(number), case .open = proof.phase else { return [.answer(number, .unavailable)] }
    proof.since = proof.since ?? view.moment
    defer { proofs[number] = proof }
    guard let token = directory.token(withHash: hash), token.isValid(at: view.now),
      directory.users[token.user]?.isActive(at: view.now) ?? false
    else { return [.answer(number, .refused(.wrongToken))] }
    if let unlinked = proof.unlinked, unlinked.refusal == .otherPerson || directory.user(named: unlinked.person.name)?.id != token.user {
      return [.answer(number, .refused(.wrongToken))]
    }
    let account = LoginAccount(user: token.user, token: token.id, questions: view.bannerQuestions)
    proof.phase = .account(account, hasCode: false)
    return [.answer(number, .account(account))]
  }

  /// An account binds one device, whatever the result.
  private mutating func bind(
    _ number: UInt32, _ view: LoginView, _ binding: (LoginAccount, LoginProof) -> LoginBinding
  ) -> [LoginProofEffect] {
    guard let proof = proofs[number], case .account = proof.phase else { return [.answer(number, .unbound)] }
    guard let account = proof.provenAccount else {
      proofs[number]?.phase = .over
      return [.answer(number, .unbound)]
    }
    let binding = binding(account, proof)
    proofs[number]?.phase = .binding(binding)
    return [.bind(conversation: number, binding)]
  }

  private mutating func end(_ number: UInt32) -> [LoginProofEffect] {
    guard let proof = proofs.removeValue(forKey: number) else { return [] }
    var effects = proof.cancellation.map { [$0] } ?? []
    // A sign-in that linked no user is refused.
    if let link = proof.unlinked {
      effects.append(
        .record(
          LoginRefusal(link.refusal), name: link.person.name.description, source: link.source, detail: link.refusal.detail(link.person)))
    }
    return effects
  }
}

// Sign-ins at an OpenID provider.
extension LoginProofs {
  private mutating func signIn(_ number: UInt32, _ source: IPAddress, _ view: LoginView) -> [LoginProofEffect] {
    guard !view.isAway, let settings = view.openID, var proof = opened(number), case .open = proof.phase, proof.unlinked == nil else {
      return [.answer(number, .unavailable)]
    }
    let attempt = LifeToken()
    proof.phase = .signingIn(LoginProof.SignIn(attempt: attempt, settings: settings, source: source))
    proofs[number] = proof
    return [.signIn(attempt, settings, conversation: number)]
  }

  package mutating func receive(
    _ report: OpenIDReport, of attempt: LifeToken, _ number: UInt32, _ view: LoginView
  ) -> [LoginProofEffect] {
    guard case .signingIn(let signIn)? = proofs[number]?.phase, signIn.attempt == attempt else { return [] }
    if case .page(_, let page) = report { return [.answer(number, .visit(page))] }
    proofs[number]?.phase = .over
    switch report {
    case .identity(_, let identity): return accept(identity, signIn, number, view)
    case .denied: return [.record(.denied, name: "", source: signIn.source, detail: ""), .answer(number, .refused(.denied))]
    case .expired: return [.answer(number, .expired)]
    case .failed(_, let text): return [.logFailure(text), .answer(number, .unavailable)]
    case .hello, .page, .checked: return [.answer(number, .unavailable)]
    }
  }

  /// The provider has named the person; the gateway decides now if that person may log in here.
  private mutating func accept(
    _ identity: OpenIDIdentity, _ signIn: LoginProof.SignIn, _ number: UInt32, _ view: LoginView
  ) -> [LoginProofEffect] {
    func refuse(_ refusal: LoginRefusal) -> [LoginProofEffect] {
      [.record(refusal, name: identity.name, source: signIn.source, detail: ""), .answer(number, .refused(refusal))]
    }
    guard let name = GatewayName(identity.name) else { return refuse(.unknownName) }
    let settings = signIn.settings
    let groups = settings.groups.enumerated().map { ($0.element.group, identity.groups.contains(UInt8(clamping: $0.offset))) }
    let person = SignedInPerson(
      subject: settings.subject(of: identity.subject), name: name, groups: Dictionary(groups) { first, _ in first })
    switch view.directory.refusal(of: person, creating: settings.createsUsers, at: view.now) {
    case nil:
      proofs[number]?.phase = .entering
      return [.enter(conversation: number, person, creating: settings.createsUsers, banner: view.bannerQuestions)]
    case .lockedUser?:
      return [.record(.lockedUser, name: name.description, source: signIn.source, detail: ""), .answer(number, .refused(.lockedUser))]
    case let refusal?:
      proofs[number]?.unlinked = UnlinkedSignIn(person: person, refusal: refusal, source: signIn.source)
      proofs[number]?.phase = .open
      return [.answer(number, .link(name: name.description))]
    }
  }
}

// Checks of passwords by a service.
extension LoginProofs {
  private mutating func check(_ password: [UInt8], _ number: UInt32, _ source: IPAddress, _ view: LoginView) -> [LoginProofEffect] {
    // One password a conversation.
    guard case .named(let name)? = proofs[number]?.phase else { return [.answer(number, .unavailable)] }
    guard let settings = view.pam else {
      proofs[number]?.phase = .over
      return [.answer(number, .unavailable)]
    }
    return begin(settings, name, password, number, source)
  }

  /// The password of this login was refused here. What the service says of a name without a user is what the client sees.
  private mutating func checkDecoy(_ number: UInt32, _ source: IPAddress, _ view: LoginView) -> [LoginProofEffect] {
    // PAM is used no longer.
    guard let settings = view.pam else {
      if case .account? = proofs[number]?.phase { proofs[number]?.phase = .over }
      return [.answer(number, .refused(.wrongPassword))]
    }
    guard let proof = opened(number) else { return [.answer(number, .unavailable)] }
    switch proof.phase {
    case .open, .account: break
    case .named, .checking, .signingIn, .entering, .binding, .over: return [.answer(number, .unavailable)]
    }
    proofs[number] = proof
    return begin(settings, nil, [], number, source)
  }

  private mutating func begin(
    _ settings: PAMSettings, _ name: GatewayName?, _ password: [UInt8], _ number: UInt32, _ source: IPAddress
  ) -> [LoginProofEffect] {
    let attempt = LifeToken()
    proofs[number]?.phase = .checking(LoginProof.Check(attempt: attempt, settings: settings, name: name))
    return [.check(attempt, settings, conversation: number, name, password: password, source: source)]
  }

  package mutating func receive(
    _ report: PAMReport, of attempt: LifeToken, _ number: UInt32, _ view: LoginView
  ) -> [LoginProofEffect] {
    guard case .checking(let check)? = proofs[number]?.phase, check.attempt == attempt else { return [] }
    if case .prompt(let text, let echo) = report { return [.answer(number, .prompt(text: text, echo: echo))] }
    if case .hello = report { return [] }
    proofs[number]?.phase = .over
    switch report {
    case .hello, .prompt: return []
    case .refused(let refusal): return [.answer(number, .refused(refusal))]
    case .unavailable(let text):
      return [.logFailure("the PAM service \(check.settings.service): \(text)"), .answer(number, .unavailable)]
    case .accepted(let notes):
      guard let name = check.name else { return [.answer(number, .refused(.wrongPassword))] }
      return accept(name, check.settings, notes, number, view)
    }
  }

  /// The password is right; whether that person may log in here is decided now, after the same time for every name.
  private mutating func accept(
    _ name: GatewayName, _ settings: PAMSettings, _ notes: String, _ number: UInt32, _ view: LoginView
  ) -> [LoginProofEffect] {
    let person = SignedInPerson(subject: settings.subject(of: name), name: name)
    let directory = view.directory
    if let refusal = directory.refusal(of: person, creating: settings.createsUsers, at: view.now) {
      return [.answer(number, .refused(LoginRefusal(refusal)))]
    }
    // A password of the gateway's own was set meanwhile.
    let user = directory.user(of: person)
    if let user, directory.credential(of: user.id)?.password.isEmpty == false { return [.answer(number, .refused(.otherPerson))] }
    proofs[number]?.phase = .entering
    return [.enter(conversation: number, person, creating: settings.createsUsers, banner: view.bannerQuestions(with: notes))]
  }

  /// For the audit log: an account whose name a user has, who is not linked to it.
  private static func detail(_ name: String, _ view: LoginView) -> String {
    guard let settings = view.pam, let name = GatewayName(name) else { return "" }
    return SignInRefusal.notLinked.detail(SignedInPerson(subject: settings.subject(of: name), name: name))
  }
}

extension LoginProofEffect {
  fileprivate static func answer(_ number: UInt32, _ answer: LoginAnswer) -> Self { .send(.answer(number: number, answer)) }
}
