internal import CSodium
internal import GatewayCore
internal import GatewayCredentials
internal import GatewayLogin
internal import Glibc
package import LinuxIO
internal import LoginProtocol
internal import NetworkTypes
internal import ProcessConfinement

/// The work of `roamward-gateway-auth`: logins and relays at the gateway's listening sockets, without privileges. `LoginTable` and
/// `CheckQueue` decide, and this carries out their effects.
package final class AuthWork {
  /// Memory for two hashes of 64 MiB, the threads' stacks, and connections with at most 256 KiB that a relay's client has not taken.
  private static let worker = ConfinedWorker(
    user: "roamward-login", descriptors: LoginTable.capacity + 2 * RelayTable.capacity + 64, memory: 512 << 20, filter: AuthFilter.filter)

  private let loop: DescriptorLoop
  private let gateway: AuthChannel
  private let workers: HashWorkers
  private let judge: PasswordJudge
  private var clients: AuthClients?
  private var logins = LoginTable()
  private var checks = CheckQueue(atWork: HashWorkers.threads + 2)
  private var finished: DescriptorLoop.Source?
  private var alarm: (at: Moment, source: DescriptorLoop.Source)?

  private init(_ channel: MessageChannel, _ workers: HashWorkers) throws(SystemError) {
    self.workers = workers
    loop = try DescriptorLoop()
    gateway = AuthChannel(channel, on: loop)
    guard let judge = PasswordJudge(.usual) else { throw SystemError(code: ENOMEM, operation: "hash a password") }
    self.judge = judge
  }

  /// Takes the gateway's channel, confines itself, and works until the channel closes. Errors are reported to the gateway too.
  package static func run() throws(SystemError) {
    try ConfinedWorker.onChannel(hello: { AuthRequest.hello(trouble: $0).frame.bytes }) { channel throws(SystemError) in
      try startLibraries()
      let work = try worker.confine(withParent: true) { () throws(SystemError) in
        // The filter reaches every thread (SECCOMP_FILTER_FLAG_TSYNC).
        let work = try AuthWork(channel, try HashWorkers())
        // The gateway's words are no stranger's; the sockets of relays are opened before that is forbidden.
        try work.begin()
        return work
      }
      try work.serve()
    }
  }

  /// Confines itself as for the gateway, and ends: tests whether that is possible here.
  package static func check() throws(SystemError) {
    try startLibraries()
    _ = try worker.confine(withParent: false) { () throws(SystemError) in try HashWorkers() }
  }

  private static func startLibraries() throws(SystemError) {
    guard sodium_init() >= 0 else { throw SystemError(code: EIO, operation: "start libsodium") }
    TLSServer.prepare()
  }

  /// Takes the first message, and has all that needs more calls than the work does.
  private func begin() throws(SystemError) {
    let (identity, port, listener) = try gateway.begin()
    guard let server = TLSServer(identity: identity) else {
      throw SystemError(code: EINVAL, operation: "use the identity of logins as a certificate with its key")
    }
    var relays: Relays?
    if let port { relays = try Relays(to: port, on: loop) }
    let clients = AuthClients(server, relays: relays, on: loop, self)
    self.clients = clients
    clients.listen(at: listener)
  }

  private func serve() throws(SystemError) {
    finished = try loop.whenReadable(workers.event.number) { [weak self] in
      guard let self else { return }
      for finish in workers.takeFinished() { finish(self) }
    }
    try gateway.serve { [weak self] in self?.take($0, $1) }
    _ = try loop.run()
  }
}

// The gateway.
extension AuthWork {
  private func ask(_ request: AuthRequest) {
    if let answer = gateway.ask(request), let number = request.number { self.answer(answer, for: number) }
  }

  private func take(_ reply: AuthReply, _ passed: FileDescriptor?) {
    switch reply {
    // It has begun.
    case .start: loop.stop()
    case .listener: if let passed { clients?.listen(at: passed) }
    case .offer(let methods, let isSlow): (logins.offers, logins.isSlow) = (methods, isSlow)
    case .remote(let number): passOn(number)
    case .credential(let number, let hash, let account, let refusal):
      carryOut(checks.credential(number, hash: hash, account, refusal))
    case .answer(let number, let answer): self.answer(answer, for: number)
    }
  }

  /// The password is one for PAM.
  private func passOn(_ number: UInt32) {
    guard let address = clients?.address(of: number), let effects = checks.passOn(number, from: address, at: .now) else { return }
    logins.passOn(number)
    carryOut(effects)
  }

  private func answer(_ answer: LoginAnswer, for number: UInt32) {
    checks.answered(number, answer)
    carryOut(logins.receive(answer, for: number, at: .now), number)
    carryOut(checks.begin(at: .now))
  }
}

// Clients.
extension AuthWork: AuthClients.Receiver {
  func opened(_ number: UInt32, from address: IPAddress) {
    logins.open(number, from: address, at: .now)
    closeGone()
    setAlarm(for: number)
  }

  func hasGreeted(_ number: UInt32) -> Bool { logins.hasGreeted(number) }

  // Nothing is said after the end, and nothing by one who waits for an answer that is more than a frame.
  func received(_ bytes: [UInt8], from number: UInt32) { carryOut(logins.receive(bytes, from: number, at: .now), number) }

  func closed(_ number: UInt32) {
    workers.cancel(number)
    checks.end(number)
    logins.close(number)
    gateway.end(number)
    carryOut(checks.begin(at: .now))
  }

  /// Those that went for others: who can be told is told to come again.
  private func closeGone() {
    for number in logins.takeGone() {
      clients?.send(LoginTable.turnedAway, to: number)
      clients?.end(number)
      clients?.flush(number)
    }
  }

  /// A client's deadline may be the next one. One that has moved rings in vain once.
  private func setAlarm(for number: UInt32) { setAlarm(at: logins.deadline(of: number)) }

  private func setAlarm(at next: Moment?) {
    guard let next, alarm.map({ next < $0.at }) ?? true else { return }
    alarm = (try? loop.at(next) { [weak self] in self?.ring() }).map { (next, $0) }
  }

  private func ring() {
    alarm = nil
    for (number, effects) in logins.expire(at: .now) { carryOut(effects, number) }
    setAlarm(at: logins.deadline)
  }
}

// Effects.
extension AuthWork {
  private func carryOut(_ effects: [LoginEffect], _ number: UInt32) {
    // First: what they hold at the gateway is for this one.
    closeGone()
    for effect in effects {
      guard let clients, let address = clients.address(of: number) else { break }
      switch effect {
      case .send(let message): clients.send(message, to: number)
      case .checkPassword(let name, let password): carryOut(checks.add(.password(name, password), of: number, from: address, at: .now))
      case .checkDecoy: carryOut(checks.addDecoy(of: number, from: address, at: .now))
      case .checkToken(let token): carryOut(checks.add(.token(Self.sha256(token)), of: number, from: address, at: .now))
      case .answerPrompt(let value): ask(.promptAnswer(number: number, value: value))
      case .signIn: ask(.signIn(number: number, source: address))
      case .checkCode(_, let code): ask(.code(number: number, code: code))
      case .setPassword(_, let password): hash(password, number)
      case .bind(_, let hello, let factors):
        guard let device = GatewayName(hello.device) else {
          answer(.unbound, for: number)
          break
        }
        ask(.bind(number: number, device: device, publicKey: hello.publicKey, factors: factors, source: address))
      case .relay(let versions): clients.relay(number, versions)
      case .record(let refusal, let name): ask(.record(refusal, name: name, source: address))
      case .close: clients.end(number)
      }
    }
    clients?.flush(number)
    setAlarm(for: number)
  }

  private func carryOut(_ effects: [CheckQueue.Effect]) {
    for effect in effects {
      switch effect {
      case .ask(let request): ask(request)
      case .busy(let number): answer(.busy, for: number)
      case .judge(let number, let password, let hash, let account, let refusal):
        let judge = judge
        work(for: number) {
          let isRight = judge.isRight(password, hash)
          let answer: LoginAnswer =
            if let refusal { .refused(refusal) } else if isRight, let account { .account(account) } else { .refused(.wrongPassword) }
          return { $0.answer(answer, for: number) }
        }
      }
    }
  }

  private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_bytes()))
    crypto_hash_sha256(&hash, bytes, UInt64(bytes.count))
    return hash
  }

  private func hash(_ password: [UInt8], _ number: UInt32) {
    if let fault = NewPassword.fault(of: password) { return answer(.unsuitable(fault), for: number) }
    work(for: number) {
      let hash = PasswordHash.usual.hash(password)
      return { work in
        guard work.clients?.address(of: number) != nil else { return }
        if let hash { work.ask(.setPassword(number: number, hash: hash)) } else { work.answer(.unavailable, for: number) }
      }
    }
  }

  /// Has a thread do this, unless too many wait.
  private func work(for number: UInt32, _ job: @escaping HashWorkers.Job) {
    if !workers.add(for: number, job) { answer(.busy, for: number) }
  }
}
