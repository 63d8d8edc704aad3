internal import GatewayCore
internal import GatewayCredentials
internal import GatewayLogin
internal import GatewayStore
internal import KernelModel
internal import LinuxIO
internal import Lives
internal import LoginProtocol
internal import NetworkTypes
internal import SystemdIO

/// The gateway's side of logins and relays: joins `roamward-gateway-auth` with the proofs of its conversations, the services that check
/// passwords and sign persons in, and the store.
final class LoginService {
  /// The gateway around it.
  struct Host {
    let folder: StateFolder
    let loop: EventLoop
    let store: GatewayStore
    /// The directory as the gateway knows it.
    let directory: () -> Directory
    /// Whether the store cannot be read: then every login is refused, with any name.
    let isAway: () -> Bool
    /// After a change of the store.
    let changed: () -> Void
    let log: (String) -> Void
  }

  private let host: Host
  private let openID: OpenIDService
  private let pam: PAMService
  private var process: AuthProcess?
  private var proofs = LoginProofs()
  private var openIDSettings = LoginSettings<OpenIDSettings>()
  private var pamSettings = LoginSettings<PAMSettings>()
  private var loggedFailure = LoggedFailure()
  private var record = LoginRecord()

  init(_ host: Host) {
    self.host = host
    openID = OpenIDService(on: host.loop, log: host.log)
    pam = PAMService(on: host.loop)
    openID.failed = { [weak self] in self?.countFailure(of: .openID) }
    process = AuthProcess(on: host.loop) { [weak self] in self?.take($0) }
  }

  /// The TCP port of relays; `nil`: nothing is relayed.
  var relayPort: UInt16? { process?.settings?.relayPort }

  /// Starts or stops as the state folder says.
  func refresh() {
    let (folder, log) = (host.folder, host.log)
    if openIDSettings.follow(folder.openIDSettings, log: log) {
      openID.stop("the settings have changed")
      offer()
    }
    if pamSettings.follow(folder.pamSettings, check: PAMFiles.check, log: log) { offer() }
    let identity = (try? folder.loginIdentity()) ?? nil
    let wanted = identity.map {
      AuthProcess.Settings(identity: $0, port: host.directory().site?.endpoint.port, relayPort: folder.relayPort())
    }
    if let wanted, process?.has(wanted) ?? false { return }
    folder.record(trouble: nil, of: .logins)
    if wanted == nil { folder.record(trouble: nil, of: .relay) }
    process?.begin(wanted)
  }

  private func offer() {
    let methods: [LoginMethod] = [.password, .token] + (openIDSettings.value == nil ? [] : [.openID])
    process?.send(.offer(methods, isSlow: pamSettings.value != nil))
  }

  private var view: LoginView {
    LoginView(
      host.directory(), isAway: host.isAway(), openID: openIDSettings.value, pam: pamSettings.value, banner: host.folder.loginBanner,
      now: Timestamp.now.wholeSecond, moment: .now)
  }

  private func take(_ event: AuthProcess.Event) {
    switch event {
    case .request(.hello(let trouble)): if process?.greet(trouble) == true { greet() }
    case .request(let request): carryOut(proofs.receive(request, view))
    case .failed(let text):
      host.log("logins: \(text)")
      host.folder.record(trouble: text, of: .logins)
      countFailure(of: .logins)
    case .relay(let trouble):
      host.folder.record(trouble: trouble, of: .relay)
      if let trouble { host.log("relay: \(trouble)") }
    case .stopped:
      proofs.endAll()
      openID.stop("logins end")
      pam.stop()
    }
  }

  private func greet() {
    host.folder.record(trouble: nil, of: .logins)
    offer()
    host.log("logins: at TCP port \(process?.settings?.port ?? 0)")
    if let relayPort { host.log("relay: at TCP port \(relayPort)") }
  }

  func countFailure(of worker: GatewayCounts.Worker) { record.fail(worker) }

  /// Writes the counts for `roamward-gateway metrics` if they have changed, and those of refused logins into the audit log at the end of an
  /// hour. `isApplied`: whether the machine is as the store says. `isLast`: the gateway ends.
  func keepCounts(isApplied: Bool, isLast: Bool = false) {
    let now = Timestamp.now.wholeSecond
    write(record.endHour(at: now, isLast: isLast), at: now)
    record.record(isApplied: isApplied)
    guard let counts = record.takeCounts() else { return host.folder.recordLook() }
    do throws(SystemError) { try host.folder.keep(counts) } catch { host.log("logins: \(error)") }
  }

  private func write(_ records: [AuditEntry.Record], at now: Timestamp) {
    if records.isEmpty { return }
    do throws(StoreError) { try host.store.record(records, at: now) } catch { host.log("logins: \(error)") }
  }
}

// The effects of proofs.
extension LoginService {
  private func carryOut(_ effects: [LoginProofEffect]) {
    for effect in effects { carryOut(effect) }
  }

  private func carryOut(_ effect: LoginProofEffect) {
    switch effect {
    case .send(let reply):
      if case .answer(_, let answer) = reply { record.count(answer) }
      process?.send(reply)
    case .signIn(let attempt, let settings, let number): signIn(attempt, settings, number)
    case .cancelSignIn(let attempt): openID.cancel(attempt)
    case .check(let attempt, let settings, let number, let name, let password, let source):
      check(attempt, settings, number, name, password, source)
    case .answerPrompt(let attempt, let value): pam.answer(value, attempt)
    case .cancelCheck(let attempt): pam.cancel(attempt)
    case .checkCode(let number, let user, let code): check(code, of: user, number)
    case .setPassword(let number, let user, let hash):
      change(number, refused: .unavailable) { work throws(GatewayError) in
        try work.choosePassword(hash, user: user)
        return .accepted
      }
    case .enter(let number, let person, let creating, let banner):
      change(number, refused: .refused(.unknownName)) { work throws(GatewayError) in
        let user = try work.signIn(person, creating: creating)
        // The service stands for the password, and not for a code that an administrator has asked for here.
        let hasCode = work.directory.credential(of: user.id)?.codeSecret.isEmpty == false
        return .account(LoginAccount(user: user.id, questions: (hasCode ? [.code] : []) + banner))
      }
    case .bind(let number, let binding): bind(binding, number)
    case .count(let factors, let milliseconds): record.accept(by: factors, milliseconds: milliseconds)
    case .record(let refusal, let name, let source, let detail):
      let now = Timestamp.now.wholeSecond
      write(record.refuse(refusal, name, from: source, detail, at: now), at: now)
    case .logFailure(let text):
      if loggedFailure.isNew(text, at: Timestamp.now.wholeSecond) { host.log("logins: \(text)") }
    }
  }

  private func finish(_ answer: LoginAnswer, _ number: UInt32) { carryOut(proofs.finish(answer, number, at: .now)) }

  private func signIn(_ attempt: LifeToken, _ settings: OpenIDSettings, _ number: UInt32) {
    let isBegun = openID.begin(settings, attempt) { [weak self] report in
      guard let self else { return }
      carryOut(proofs.receive(report, of: attempt, number, view))
    }
    if !isBegun { finish(.busy, number) }
  }

  /// A name that has no user anywhere.
  private static let decoy = GatewayName("roamward-decoy")

  private func check(
    _ attempt: LifeToken, _ settings: PAMSettings, _ number: UInt32, _ name: GatewayName?, _ password: [UInt8], _ source: IPAddress
  ) {
    guard let account = name ?? Self.decoy else { return finish(.unavailable, number) }
    do throws(SystemError) {
      let isBegun = try pam.begin(
        settings, account, name == nil ? PAMService.randomPassword : password, attempt, from: source
      ) { [weak self] report in
        guard let self else { return }
        carryOut(proofs.receive(report, of: attempt, number, view))
      }
      if !isBegun { finish(.busy, number) }
    } catch {
      host.log("logins: \(error)")
      finish(.unavailable, number)
    }
  }

  private func check(_ code: [UInt8], of user: Int64, _ number: UInt32) {
    let credential = host.directory().credential(of: user)
    if let hash = RecoveryCode.hash(code) {
      // Looked for here as well: a wrong one is no change that fails.
      guard credential?.recoveryHashes.contains(hash) == true else { return finish(.refused(.wrongCode), number) }
      return change(number, refused: .refused(.wrongCode)) { work throws(GatewayError) in
        try work.useRecovery(hash, user: user)
        return .accepted
      }
    }
    guard let credential,
      let step = OneTimeCode.step(of: code, credential.codeSecret, at: Timestamp.now.wholeSecond, after: credential.codeStep)
    else { return finish(.refused(.wrongCode), number) }
    change(number, refused: .refused(.wrongCode)) { work throws(GatewayError) in
      try work.useCode(ofStep: step, user: user)
      return .accepted
    }
  }

  private func bind(_ binding: LoginBinding, _ number: UInt32) {
    guard let key = WireGuardKey(bytes: binding.publicKey) else { return finish(.unbound, number) }
    let row = Administration.Binding(
      user: binding.account.user, token: binding.account.token, device: binding.device, publicKey: key,
      factors: binding.factors.map { "\($0)" }.joined(separator: ","), source: binding.source.description, person: binding.person)
    let relayPort = relayPort
    change(number, refused: .unbound) { work throws(GatewayError) in
      let device = try work.bind(row)
      guard var grant = LoginGrant(work.directory, device) else { throw GatewayError.notInitialised }
      grant.relayPort = relayPort
      guard grant.isSendable else {
        throw GatewayError("the settings of \(binding.device) are too long for a login", help: "use fewer routes")
      }
      return .bound(grant)
    }
  }

  /// Makes a change, and answers when it is stored. `refused`: the answer where the request is.
  private func change(
    _ number: UInt32, refused: LoginAnswer, _ body: (inout Administration) throws(GatewayError) -> LoginAnswer
  ) {
    do throws(GatewayStore.Refusal) {
      let result = try host.store.change(as: "login", at: Timestamp.now.wholeSecond, body)
      host.changed()
      finish(result, number)
    } catch {
      let result: LoginAnswer
      switch error {
      case .request(let refusal) where refusal.kind == .deviceLimit: result = .refused(.deviceLimit)
      case .request: result = refused
      case .store: result = .unavailable
      }
      // The audit log has the other one.
      if result != .refused(.deviceLimit) { host.log("logins: \(error)") }
      finish(result, number)
    }
  }
}
