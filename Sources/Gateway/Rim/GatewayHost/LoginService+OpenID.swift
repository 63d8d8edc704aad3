internal import GatewayCore
internal import GatewayLogin
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes

/// A sign-in at the OpenID provider by a person who is no user yet.
struct UnlinkedSignIn {
  let person: SignedInPerson
  let refusal: SignInRefusal
  let source: IPAddress
}

// Sign-ins at an OpenID provider.
extension LoginService {
  func refreshOpenID() {
    var (found, trouble): (OpenIDSettings?, String?)
    do { found = try folder.openIDSettings() } catch { trouble = "\(error)" }
    if let trouble, trouble != openIDTrouble { log("logins: \(trouble)") }
    openIDTrouble = trouble
    guard found != openIDSettings else { return }
    openIDSettings = found
    openID.stop("the settings have changed")
    offer()
  }

  func offer() {
    send(.offer([.password, .token] + (openIDSettings == nil ? [] : [.openID]), isSlow: pam.settings != nil))
  }

  func signIn(_ number: UInt32, _ source: IPAddress) {
    guard !isAway(), let settings = openIDSettings, conversations[number] == nil, signIns[number] == nil,
      conversations.count <= LoginDesk.capacity
    else { return answer(number, .unavailable) }
    let flow = openID.begin(settings) { [weak self] in self?.take($0, settings, number, source) }
    guard let flow else { return answer(number, .busy) }
    signIns[number] = flow
  }

  private func take(_ report: OpenIDReport, _ settings: OpenIDSettings, _ number: UInt32, _ source: IPAddress) {
    if case .page(_, let page) = report { return answer(number, .visit(page)) }
    guard signIns.removeValue(forKey: number) != nil else { return }
    switch report {
    case .identity(_, let identity): accept(identity, settings, number, source)
    case .denied:
      note(.denied, "", source)
      answer(number, .refused(.denied))
    case .expired: answer(number, .expired)
    case .failed(_, let text):
      logFailure(text)
      answer(number, .unavailable)
    case .hello, .page, .checked: answer(number, .unavailable)
    }
  }

  /// The conversation has ended: a sign-in that linked no user is refused.
  func endLink(_ number: UInt32) {
    guard let link = links.removeValue(forKey: number) else { return }
    note(LoginRefusal(link.refusal), link.person.name.description, link.source, link.refusal.detail(link.person))
  }

  func logFailure(_ text: String) {
    let failure = (text: text, minute: Timestamp.now.seconds / 60)
    if failure != loggedFailure { log("logins: \(text)") }
    loggedFailure = failure
  }

  /// The provider has named the person; the gateway decides now if that person may log in here.
  private func accept(_ identity: OpenIDIdentity, _ settings: OpenIDSettings, _ number: UInt32, _ source: IPAddress) {
    guard let name = GatewayName(identity.name) else {
      note(.unknownName, identity.name, source)
      return answer(number, .refused(.unknownName))
    }
    let groups = settings.groups.enumerated().map { ($0.element.group, identity.groups.contains(UInt8(clamping: $0.offset))) }
    let person = SignedInPerson(
      subject: settings.subject(of: identity.subject), name: name, groups: Dictionary(groups) { first, _ in first })
    switch directory().refusal(of: person, creating: settings.createsUsers, at: Timestamp.now.seconds) {
    case nil: break
    case .lockedUser?:
      note(.lockedUser, name.description, source)
      return answer(number, .refused(.lockedUser))
    case let refusal?:
      links[number] = UnlinkedSignIn(person: person, refusal: refusal, source: source)
      return answer(number, .link(name: name.description))
    }
    let banner = banner
    change(number, refused: .refused(.unknownName)) { work throws(GatewayError) in
      let user = try work.signIn(person, creating: settings.createsUsers)
      // The provider stands for the password, and not for a code that an administrator has asked for here.
      let hasCode = work.directory.credential(of: user.id)?.codeSecret.isEmpty == false
      return .account(LoginAccount(user: user.id, questions: (hasCode ? [.code] : []) + banner))
    }
  }
}

extension LoginRefusal {
  init(_ refusal: SignInRefusal) {
    switch refusal {
    case .unknownName: self = .unknownName
    case .lockedUser: self = .lockedUser
    case .otherPerson: self = .otherPerson
    case .notLinked: self = .notLinked
    }
  }
}
