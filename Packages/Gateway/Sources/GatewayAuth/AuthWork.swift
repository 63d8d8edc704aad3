internal import CSodium
internal import GatewayCore
internal import GatewayCredentials
internal import GatewayLogin
internal import GatewaySockets
internal import Glibc
package import LinuxIO
internal import LoginProtocol
internal import NetworkTypes
internal import ProcessConfinement

/// The work of `roamward-gateway-auth`: logins and relays at the gateway's listening sockets, without privileges.
package final class AuthWork {
  /// The system user that it switches to: the engine's.
  package static let user = "roamward-wireguard"
  private static let descriptors = LoginDesk.capacity + 2 * RelayDesk.capacity + 64
  /// Two hashes of 64 MiB, the threads' stacks, and the connections with at most 256 KiB that a relay's client has not taken.
  private static let memory = 512 << 20

  private let loop: DescriptorLoop
  private let channel: MessageChannel
  private let workers: HashWorkers
  private let judge: PasswordJudge
  private var server: TLSServer?
  private var listeners: [(file: FileDescriptor, source: DescriptorLoop.Source)] = []
  /// `nil`: nothing is relayed.
  private var relays: Relays?
  /// Until what `roamward-gateway` says first.
  private static let patience = Duration.seconds(10)
  private var desk = LoginDesk()
  private var clients: [UInt32: Client] = [:]
  private var lastNumber: UInt32 = 0
  /// The passwords whose hashes were asked for.
  private var passwords: [UInt32: [UInt8]] = [:]
  private var asked = AskedQuestions()
  private var sources: [DescriptorLoop.Source] = []
  private var alarm: (at: Moment, source: DescriptorLoop.Source)?

  private final class Client {
    let file: FileDescriptor
    let address: IPAddress
    let connection: TLSConnection
    var isEnding = false
    var reading: DescriptorLoop.Source?

    init(_ file: FileDescriptor, _ address: IPAddress, _ connection: TLSConnection) {
      self.file = file
      self.address = address
      self.connection = connection
    }
  }

  private init(_ channel: MessageChannel, _ workers: HashWorkers) throws(SystemError) {
    self.channel = channel
    self.workers = workers
    loop = try DescriptorLoop()
    guard let judge = PasswordJudge(.usual) else { throw SystemError(code: ENOMEM, operation: "hash a password") }
    self.judge = judge
  }

  /// Takes the gateway's channel, confines itself, and works until the channel closes. Errors are reported to the gateway too.
  package static func run() throws(SystemError) {
    let file = FileDescriptor(owning: MessageChannel.inheritedNumber)
    _ = fcntl(file.number, F_SETFD, FD_CLOEXEC)
    let channel = MessageChannel(file)
    do throws(SystemError) {
      var work: AuthWork?
      try confine(withParent: true) { workers throws(SystemError) in
        work = try AuthWork(channel, workers)
        // What the gateway says is no stranger's; the sockets of relays are opened before that is forbidden.
        try work?.begin()
      }
      try work?.serve()
    } catch {
      try? channel.send(AuthRequest.hello(trouble: error.description).frame.bytes)
      throw error
    }
  }

  /// Confines itself as for the gateway, and ends: tests whether that is possible here.
  package static func check() throws(SystemError) { try confine(withParent: false) { _ in } }

  /// `body` prepares what needs more calls than the work does.
  private static func confine(withParent: Bool, _ body: (HashWorkers) throws(SystemError) -> Void) throws(SystemError) {
    guard sodium_init() >= 0 else { throw SystemError(code: EIO, operation: "start libsodium") }
    TLSServer.prepare()
    try Confinement.giveUpPrivileges(becoming: user)
    if withParent { try Confinement.endWithParent() }
    let filter = try AuthFilter.filter()
    try Confinement.limit(descriptors: descriptors, memory: memory)
    // The filter reaches every thread (SECCOMP_FILTER_FLAG_TSYNC).
    try body(try HashWorkers())
    let result = filter.load()
    guard result == 0 else { throw SystemError(code: result, operation: "confine system calls") }
  }

  private func serve() throws(SystemError) {
    sources = [
      try loop.whenReadable(channel.descriptor.number) { [weak self] in self?.receiveReplies() },
      try loop.whenReadable(workers.event.number) { [weak self] in
        guard let self else { return }
        for finish in workers.takeFinished() { finish(self) }
      },
    ]
    try channel.send(AuthRequest.hello(trouble: nil).frame.bytes)
    _ = try loop.run()
  }
}

// The gateway.
extension AuthWork {
  private func ask(_ request: AuthRequest) {
    tellEnds()
    guard asked.begin(request) else {
      if let number = request.number { answer(.busy, for: number) }
      return
    }
    if send(request) { return }
    // A gateway that takes nothing has stopped, or waits; the login is answered as if its store were away.
    if let number = request.number {
      asked.answered(number)
      answer(.unavailable, for: number)
    }
  }

  /// Tells the gateway of conversations that have ended: it keeps what it knows of them until then.
  private func tellEnds() {
    while let number = asked.nextEnd, send(.ended(number: number)) { asked.endIsTold() }
  }

  /// `false`: the gateway has left too much unread.
  private func send(_ request: AuthRequest) -> Bool {
    do throws(SystemError) { try channel.send(request.frame.bytes) } catch {
      if error.code != EAGAIN { loop.stop() }
      return false
    }
    return true
  }

  private func receiveReplies() {
    for _ in 0..<64 {
      do {
        switch try channel.receive(takesDescriptors: true) {
        case .nothing: return
        case .ended: return loop.stop()
        case .message(let bytes, let passed): take(try AuthReply(LoginFrame(body: bytes.dropFirst(2))), passed)
        }
      } catch {
        // A gateway of another version: the hello has reported it.
        return loop.stop()
      }
    }
  }

  private func take(_ reply: AuthReply, _ passed: FileDescriptor?) {
    if let number = reply.number { asked.answered(number) }
    tellEnds()
    switch reply {
    // It has begun.
    case .start: loop.stop()
    case .listener: if let passed { listen(at: passed) }
    case .offer(let methods, let isSlow): (desk.offers, desk.isSlow) = (methods, isSlow)
    case .remote(let number): passOn(number)
    case .credential(let number, let hash, let account, let refusal): judge(number, hash, account, refusal)
    case .answer(let number, let answer): self.answer(answer, for: number)
    }
  }

  /// Takes the first message, and has all that needs more calls than the work does.
  private func begin() throws(SystemError) {
    guard channel.wait(atMost: Self.patience), case .message(let bytes, let passed?) = try channel.receive(takesDescriptors: true),
      case .start(let identity, let port) = try? AuthReply(LoginFrame(body: bytes.dropFirst(2)))
    else { throw SystemError(code: EPROTO, operation: "begin: the gateway is of another version") }
    guard let server = TLSServer(identity: identity) else {
      throw SystemError(code: EINVAL, operation: "use the identity of logins as a certificate with its key")
    }
    self.server = server
    if let port { relays = try Relays(to: port, on: loop) }
    listen(at: passed)
  }

  private func listen(at passed: FileDescriptor) {
    guard let source = try? loop.whenReadable(passed.number, { [weak self] in self?.acceptClients(at: passed) }) else { return loop.stop() }
    listeners.append((passed, source))
  }

  private func answer(_ answer: LoginAnswer, for number: UInt32) {
    carryOut(desk.receive(answer, for: number, at: .now), number)
  }
}

// Checks.
extension AuthWork {
  private func carryOut(_ effects: [LoginEffect], _ number: UInt32) {
    for effect in effects {
      guard let client = clients[number] else { break }
      switch effect {
      case .send(let message): if !client.connection.send(message.frame.bytes) { client.isEnding = true }
      case .checkPassword(let name, let password): check(name, password, number)
      case .checkDecoy: ask(.decoy(number: number, source: client.address))
      case .checkToken(let token): ask(.token(number: number, hash: Self.sha256(token)))
      case .answerPrompt(let value): ask(.promptAnswer(number: number, value: value))
      case .signIn: ask(.signIn(number: number, source: client.address))
      case .checkCode(_, let code): ask(.code(number: number, code: code))
      case .setPassword(_, let password): hash(password, number)
      case .bind(_, let hello, let factors):
        guard let device = GatewayName(hello.device) else {
          answer(.unbound, for: number)
          break
        }
        ask(.bind(number: number, device: device, publicKey: hello.publicKey, factors: factors, source: client.address))
      case .relay(let versions): relay(client, number, versions)
      case .note(let refusal, let name): ask(.note(refusal, name: name, source: client.address))
      case .close: client.isEnding = true
      }
    }
    flush(number)
    setAlarm()
  }

  private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_bytes()))
    crypto_hash_sha256(&hash, bytes, UInt64(bytes.count))
    return hash
  }

  private func check(_ name: GatewayName?, _ password: [UInt8], _ number: UInt32) {
    // Before the gateway is asked: names are told apart by nothing.
    guard workers.hasRoom else { return answer(.busy, for: number) }
    passwords[number] = password
    guard let name else { return judge(number, "", nil, .unknownName) }
    ask(.credential(number: number, name: name))
  }

  /// Has the gateway check the password by PAM.
  private func passOn(_ number: UInt32) {
    guard let password = passwords.removeValue(forKey: number), let client = clients[number] else { return }
    desk.passOn(number)
    ask(.password(number: number, password: password, source: client.address))
  }

  /// Verifies the password, against a hash that no password has if there is none.
  private func judge(_ number: UInt32, _ hash: String, _ account: LoginAccount?, _ refusal: LoginRefusal?) {
    guard let password = passwords.removeValue(forKey: number) else { return }
    let judge = judge
    let isAdded = workers.add(for: number) {
      let isRight = judge.isRight(password, hash)
      let answer: LoginAnswer =
        if let refusal { .refused(refusal) } else if isRight, let account { .account(account) } else { .refused(.wrongPassword) }
      return { $0.answer(answer, for: number) }
    }
    if !isAdded { answer(.busy, for: number) }
  }

  private func hash(_ password: [UInt8], _ number: UInt32) {
    if let fault = NewPassword.fault(of: password) { return answer(.unsuitable(fault), for: number) }
    let isAdded = workers.add(for: number) {
      let hash = PasswordHash.usual.hash(password)
      return { work in
        guard work.clients[number] != nil else { return }
        if let hash { work.ask(.setPassword(number: number, hash: hash)) } else { work.answer(.unavailable, for: number) }
      }
    }
    if !isAdded { answer(.busy, for: number) }
  }
}

// Clients.
extension AuthWork {
  private func acceptClients(at listener: FileDescriptor) {
    guard let server else { return }
    for _ in 0..<16 {
      guard let file = try? listener.accept() else { return }
      guard let address = file.remoteAddress, let connection = TLSConnection(server) else { continue }
      repeat { lastNumber &+= 1 } while clients[lastNumber] != nil || relays?.contains(lastNumber) ?? false
      let number = lastNumber
      guard desk.open(number, from: address, at: .now) else { continue }
      let client = Client(file, address, connection)
      guard let source = try? loop.whenReadable(file.number, { [weak self] in self?.receive(number) }) else {
        desk.close(number)
        continue
      }
      client.reading = source
      clients[number] = client
    }
    setAlarm()
  }

  private func receive(_ number: UInt32) {
    guard let client = clients[number] else { return }
    do throws(SystemError) {
      guard let bytes = try client.file.read(atMost: 4096) else { return }
      if bytes.isEmpty { return remove(number) }
      guard let plain = client.connection.receive(bytes) else {
        // What TLS has to say of it is sent.
        client.isEnding = true
        return flush(number)
      }
      // Nothing is said after the end, and nothing by one who waits for an answer that is more than a frame.
      carryOut(desk.receive(plain, from: number, at: .now), number)
    } catch {
      remove(number)
    }
  }

  /// Hands a connection over to the relays.
  private func relay(_ client: Client, _ number: UInt32, _ versions: ClosedRange<UInt8>) {
    var refusal = GatewayMessage.failed(.unsupported, retryAfter: 0)
    if !versions.contains(RelayDesk.version) {
      refusal = .failed(.version, retryAfter: 0)
    } else if let relays {
      // A descriptor has one source at a time.
      client.reading = nil
      if relays.begin(number, client.file, client.connection, from: client.address) {
        clients[number] = nil
        return
      }
      refusal = .failed(.later, retryAfter: 30)
    }
    _ = client.connection.send(refusal.frame.bytes)
    client.isEnding = true
  }

  private func flush(_ number: UInt32) {
    guard let client = clients[number] else { return }
    if client.isEnding { client.connection.end() }
    var output = client.connection.takeOutput()[...]
    do throws(SystemError) {
      while !output.isEmpty {
        let count = try client.file.write(output)
        if count == 0 { break }
        output = output.dropFirst(count)
      }
    } catch {
      return remove(number)
    }
    // The socket takes more than all messages of a login. A client that leaves it full is not waited for.
    if client.isEnding || !output.isEmpty { remove(number) }
  }

  private func remove(_ number: UInt32) {
    guard let client = clients.removeValue(forKey: number) else { return }
    client.reading?.cancel()
    passwords[number] = nil
    workers.cancel(number)
    desk.close(number)
    asked.end(number)
    tellEnds()
    setAlarm()
  }

  private func setAlarm() {
    guard let next = desk.deadline else {
      alarm?.source.cancel()
      alarm = nil
      return
    }
    if let alarm, alarm.at == next { return }
    alarm?.source.cancel()
    alarm = (try? loop.at(next) { [weak self] in self?.ring() }).map { (next, $0) }
  }

  private func ring() {
    alarm = nil
    for (number, effects) in desk.expire(at: .now) { carryOut(effects, number) }
    setAlarm()
  }
}
