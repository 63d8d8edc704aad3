internal import ConfinedProcess
internal import GatewayCore
internal import GatewayCredentials
internal import GatewayLogin
internal import GatewaySockets
internal import GatewayStore
internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes
internal import SystemdIO

/// The gateway's side of logins and relays: starts `roamward-gateway-auth`, answers what it asks, and makes the changes of a login.
///
/// That process reads strangers' bytes, so what it asks is held to the order of a login: it binds a device only for the user whose
/// credential it has read in the same conversation, and behind the one-time code where the user has one.
final class LoginService {
  static let program = "roamward-gateway-auth"

  let folder: StateFolder
  private let loop: EventLoop
  private let store: GatewayStore
  let log: (String) -> Void
  /// The directory as the gateway knows it.
  let directory: () -> Directory
  /// Whether the store cannot be read: then every login is refused, with any name.
  let isAway: () -> Bool
  /// After a change of the store.
  private let changed: () -> Void
  private var process: WorkerProcess?
  private var listeners: [FileDescriptor] = []
  private var identity = ""
  /// The port of logins, which is the link's.
  private var port: UInt16?
  /// The TCP port of relays; `nil`: nothing is relayed.
  private(set) var relayPort: UInt16?
  private var pause = RestartPause()
  private var restart: EventSource?
  var conversations: [UInt32: Conversation] = [:]
  let openID: OpenIDService
  var openIDSettings: OpenIDSettings?
  var openIDTrouble: String?
  let pam: PAMLogins
  /// The failure that was logged last, and its minute: strangers would fill the journal while the provider is away.
  var loggedFailure: (text: String, minute: Int64) = ("", 0)
  /// The sign-ins of conversations, by the service's numbers.
  var signIns: [UInt32: UInt32] = [:]
  /// The sign-ins of persons who are no users yet, by conversation.
  var links: [UInt32: UnlinkedSignIn] = [:]
  private var record = LoginRecord()

  /// The factors that a conversation has proven.
  struct Conversation {
    var account: LoginAccount
    var hasCode = false
    var mayBind: Bool { hasCode || !account.questions.contains(.code) }
  }

  init(
    _ folder: StateFolder, on loop: EventLoop, _ store: GatewayStore, directory: @escaping () -> Directory,
    isAway: @escaping () -> Bool, changed: @escaping () -> Void, log: @escaping (String) -> Void
  ) {
    self.folder = folder
    self.loop = loop
    self.store = store
    self.directory = directory
    self.isAway = isAway
    self.changed = changed
    self.log = log
    openID = OpenIDService(on: loop, log: log)
    pam = PAMLogins(on: loop, log: log)
  }

  /// Starts or stops as the state folder says.
  func refresh() {
    refreshOpenID()
    if pam.refresh(folder) { offer() }
    let wanted = (try? folder.loginIdentity()) ?? nil
    let (wantedPort, wantedRelay) = (directory().site?.endpoint.port, folder.relayPort())
    if let wanted, wanted == identity, wantedPort == port, wantedRelay == relayPort, process != nil || restart != nil { return }
    stop()
    (identity, port, relayPort) = (wanted ?? "", wantedPort, wantedRelay)
    folder.note(trouble: nil, of: .logins)
    if wanted == nil { folder.note(trouble: nil, of: .relay) }
    if wanted != nil { start() }
  }

  private func stop() {
    restart = nil
    conversations = [:]
    record.forgetAll()
    signIns = [:]
    links = [:]
    openID.stop("logins end")
    pam.stop()
    process?.end()
    process = nil
    listeners = []
  }

  private func start() {
    restart = nil
    guard let port else { return }
    do throws(SystemError) {
      let listener = try ListeningSocket.make(port: port)
      listeners = [listener]
      listenForRelays(besides: port)
      process = try WorkerProcess(
        Self.program, on: loop, take: { [weak self] in self?.take(try AuthRequest($0)) }, failed: { [weak self] in self?.fail($0) })
      send(.start(identity: identity, relayTo: relayPort == nil ? nil : port), passing: listener)
      for further in listeners.dropFirst() { send(.listener, passing: further) }
    } catch { fail("\(error)") }
  }

  /// Logins go on without the other port, which may belong to a web server.
  private func listenForRelays(besides port: UInt16) {
    var trouble: String?
    if let relayPort, relayPort != port {
      do throws(SystemError) { listeners.append(try ListeningSocket.make(port: relayPort)) } catch { trouble = "\(error)" }
    }
    folder.note(trouble: trouble, of: .relay)
    if let trouble { log("relay: \(trouble)") }
  }

  private func fail(_ text: String) {
    log("logins: \(text)")
    folder.note(trouble: text, of: .logins)
    stop()
    pause.fail(at: .now)
    restart = try? loop.at(pause.end ?? .now) { [weak self] in self?.start() }
  }

  func send(_ reply: AuthReply, passing file: FileDescriptor? = nil) {
    do throws(SystemError) { try process?.send(reply.frame, passing: file) } catch { fail("\(error)") }
  }

  func answer(_ number: UInt32, _ answer: LoginAnswer) {
    record.count(answer)
    send(.answer(number: number, answer))
  }

  /// Writes the counts for `roamward-gateway metrics` if they have changed, and those of refused logins into the audit log at the end of an
  /// hour. `isLast`: the gateway ends.
  func keepCounts(isLast: Bool = false) {
    let now = Timestamp.now.seconds
    write(record.endHour(at: now, isLast: isLast), at: now)
    guard let counts = record.takeCounts() else { return }
    do throws(SystemError) { try folder.keep(counts) } catch { log("logins: \(error)") }
  }

  private func take(_ request: AuthRequest) {
    switch request {
    case .hello(nil):
      folder.note(trouble: nil, of: .logins)
      offer()
      log("logins: at TCP port \(port ?? 0)")
      if let relayPort { log("relay: at TCP port \(relayPort)") }
    case .hello(let trouble?): fail(trouble)
    case .credential(let number, let name):
      record.begin(number)
      findCredential(number, name)
    case .token(let number, let hash):
      record.begin(number)
      findToken(number, hash)
    case .code(let number, let code): check(code, number)
    case .setPassword(let number, let hash): setPassword(hash, number)
    case .bind(let number, let device, let key, let factors, let source): bind(number, device, key, factors, source)
    case .note(let refusal, let name, let source): note(refusal, name, source, refusal == .notLinked ? pamDetail(name) : "")
    case .ended(let number):
      conversations[number] = nil
      record.forget(number)
      if let flow = signIns.removeValue(forKey: number) { openID.cancel(flow) }
      pam.end(number)
      endLink(number)
    case .signIn(let number, let source): signIn(number, source)
    case .password(let number, let password, let source): check(password: password, number, source)
    case .decoy(let number, let source): checkDecoy(number, source)
    case .promptAnswer(let number, let value):
      record.forget(number)
      if !pam.answer(value, number) { answer(number, .unavailable) }
    }
  }
}

// Answers.
extension LoginService {
  private func findCredential(_ number: UInt32, _ name: GatewayName) {
    let directory = directory()
    // One name a conversation.
    guard !isAway(), conversations[number] == nil, conversations.count <= LoginDesk.capacity else { return answer(number, .unavailable) }
    let link = links[number]
    guard link?.person.name ?? name == name else { return answer(number, .unavailable) }
    let ownPassword = directory.user(named: name).flatMap { directory.credential(of: $0.id) }?.password ?? ""
    // A sign-in is linked by a proof that the gateway itself has.
    if link == nil, pam.settings != nil, ownPassword.isEmpty {
      return pam.await(name, number) ? send(.remote(number: number)) : answer(number, .unavailable)
    }
    guard let user = directory.user(named: name) else {
      return send(.credential(number: number, hash: "", account: nil, refusal: .unknownName))
    }
    let credential = directory.credential(of: user.id)
    let hash = credential?.password ?? ""
    let account = LoginAccount(user: user.id, questions: questions(of: credential))
    let refusal: LoginRefusal? =
      hash.isEmpty
      ? .noPassword : link?.refusal == .otherPerson ? .otherPerson : user.isActive(at: Timestamp.now.seconds) ? nil : .lockedUser
    if refusal == nil { conversations[number] = Conversation(account: account) }
    send(.credential(number: number, hash: hash, account: account, refusal: refusal))
  }

  private func questions(of credential: Credential?) -> [LoginAccount.Question] {
    guard let credential else { return banner }
    return (credential.codeSecret.isEmpty ? [] : [.code]) + (credential.mustChange ? [.newPassword] : []) + banner
  }

  var banner: [LoginAccount.Question] { folder.loginBanner().map { [.banner($0)] } ?? [] }

  /// Together with what a service has to say to the person, as far as it fits.
  func banner(with notes: String) -> [LoginAccount.Question] {
    guard !notes.isEmpty else { return banner }
    guard let own = folder.loginBanner() else { return [.banner(notes)] }
    return [.banner("\(PAMReport.printable(notes, limit: max(0, GatewayMessage.textLimit - own.utf8.count - 1)))\n\(own)")]
  }

  private func findToken(_ number: UInt32, _ hash: [UInt8]) {
    let (directory, now) = (directory(), Timestamp.now.seconds)
    guard !isAway(), conversations[number] == nil, conversations.count <= LoginDesk.capacity else { return answer(number, .unavailable) }
    guard let token = directory.token(withHash: hash), token.isValid(at: now), directory.users[token.user]?.isActive(at: now) ?? false
    else { return answer(number, .refused(.wrongToken)) }
    if let link = links[number], link.refusal == .otherPerson || directory.user(named: link.person.name)?.id != token.user {
      return answer(number, .refused(.wrongToken))
    }
    let account = LoginAccount(user: token.user, token: token.id, questions: banner)
    conversations[number] = Conversation(account: account)
    answer(number, .account(account))
  }

  private func check(_ code: [UInt8], _ number: UInt32) {
    if let conversation = conversations[number], let hash = RecoveryCode.hash(code) {
      // Looked for here as well: a wrong one is no change that fails.
      guard directory().credential(of: conversation.account.user)?.recoveryHashes.contains(hash) == true else {
        return answer(number, .refused(.wrongCode))
      }
      change(number, refused: .refused(.wrongCode)) { work throws(GatewayError) in
        try work.useRecovery(hash, user: conversation.account.user)
        return .accepted
      }
      return
    }
    guard let conversation = conversations[number], let credential = directory().credential(of: conversation.account.user),
      let step = OneTimeCode.step(
        of: code, credential.codeSecret, at: Timestamp.now.seconds, after: credential.codeStep)
    else { return answer(number, .refused(.wrongCode)) }
    change(number, refused: .refused(.wrongCode)) { work throws(GatewayError) in
      try work.useCode(ofStep: step, user: conversation.account.user)
      return .accepted
    }
  }

  private func setPassword(_ hash: String, _ number: UInt32) {
    guard let conversation = conversations[number], conversation.mayBind, conversation.account.questions.contains(.newPassword) else {
      return answer(number, .unavailable)
    }
    change(number, refused: .unavailable) { work throws(GatewayError) in
      try work.choosePassword(hash, user: conversation.account.user)
      return .accepted
    }
  }

  private func bind(_ number: UInt32, _ name: GatewayName, _ key: [UInt8], _ factors: [LoginMethod], _ source: IPAddress) {
    guard let conversation = conversations.removeValue(forKey: number), conversation.mayBind, let key = WireGuardKey(bytes: key) else {
      return answer(number, .unbound)
    }
    let user = directory().users[conversation.account.user]?.name.description ?? ""
    let binding = Administration.Binding(
      user: conversation.account.user, token: conversation.account.token, device: name, publicKey: key,
      factors: factors.map { "\($0)" }.joined(separator: ","), source: source.description,
      person: links[number]?.person)
    let result = change(number, refused: .unbound) { work throws(GatewayError) in
      let device = try work.bind(binding)
      guard var grant = LoginGrant(work.directory, device) else { throw GatewayError.notInitialised }
      grant.relayPort = relayPort
      guard grant.isSendable else {
        throw GatewayError("the settings of \(name) are too long for a login", help: "use fewer routes")
      }
      return .bound(grant)
    }
    if result == .refused(.deviceLimit) { note(.deviceLimit, user, source) }
    guard case .bound = result else { return }
    links[number] = nil
    record.accept(number, by: factors, isPlain: conversation.account.questions.isEmpty)
  }

  /// Makes a change, and answers when it is stored. Returns the answer. `refused`: the answer where the request is.
  @discardableResult
  func change(
    _ number: UInt32, refused: LoginAnswer, _ body: (inout Administration) throws(GatewayError) -> LoginAnswer
  ) -> LoginAnswer {
    do throws(GatewayStore.Refusal) {
      let result = try store.change(as: "login", at: Timestamp.now.seconds, body)
      changed()
      if result == .accepted { conversations[number]?.hasCode = true }
      if case .account(let account) = result { conversations[number] = Conversation(account: account) }
      answer(number, result)
      return result
    } catch {
      let result: LoginAnswer
      switch error {
      case .request(let refusal) where refusal.kind == .deviceLimit: result = .refused(.deviceLimit)
      case .request: result = refused
      case .store: result = .unavailable
      }
      // The audit log has the other one.
      if result != .refused(.deviceLimit) { log("logins: \(error)") }
      answer(number, result)
      return result
    }
  }

  func note(_ refusal: LoginRefusal, _ name: String, _ source: IPAddress, _ detail: String = "") {
    let now = Timestamp.now.seconds
    write(record.refuse(refusal, name, from: source, detail, at: now), at: now)
  }

  private func write(_ records: [AuditEntry.Record], at now: Int64) {
    if records.isEmpty { return }
    do throws(StoreError) { try store.record(records, at: now) } catch { log("logins: \(error)") }
  }
}
