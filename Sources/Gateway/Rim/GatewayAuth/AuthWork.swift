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
  /// Memory for two hashes of 64 MiB, the threads' stacks, and connections with at most 256 KiB that a relay's client has not taken.
  private static let worker = ConfinedWorker(
    user: "roamward-login", descriptors: LoginDesk.capacity + 2 * RelayDesk.capacity + 64, memory: 512 << 20, filter: AuthFilter.filter)

  private let loop: DescriptorLoop
  private let channel: MessageChannel
  let workers: HashWorkers
  let judge: PasswordJudge
  private var server: TLSServer?
  private var listeners: [(file: FileDescriptor, source: DescriptorLoop.Source)] = []
  /// `nil`: nothing is relayed.
  private var relays: Relays?
  /// Until what `roamward-gateway` says first.
  private static let patience = Duration.seconds(10)
  var desk = LoginDesk()
  var clients: [UInt32: Client] = [:]
  private var lastNumber: UInt32 = 0
  /// Connections that say something before their first message is whole: handshakes of TLS, which cost more than all that follows.
  private var handshakes = WorkQueue(atWork: 1)
  /// So many are read between two looks at all other connections.
  private static let handshakesAtOnce = 4
  private static let acceptedAtOnce = 32
  private var turn: DescriptorLoop.Source?
  /// Passwords and tokens that are to be checked, few more at once than there are threads; those that wait; and, by the service of the
  /// network, whose answers take seconds.
  var checks = WorkQueue(atWork: HashWorkers.threads + 2, waiting: AskedQuestions.limit)
  var serviceChecks = WorkQueue(atWork: PAMLimits.checks, waiting: AskedQuestions.limit)
  var unchecked: [UInt32: Check] = [:]
  /// `nil`: of a name without a user.
  var serviceOrders: [UInt32: [UInt8]?] = [:]
  /// The passwords whose hashes were asked for.
  var passwords: [UInt32: [UInt8]] = [:]
  private var asked = AskedQuestions()
  private var sources: [DescriptorLoop.Source] = []
  private var alarm: (at: Moment, source: DescriptorLoop.Source)?

  enum Check {
    /// The name is `nil` if no user can have it.
    case password(GatewayName?, [UInt8])
    case token([UInt8])
  }

  final class Client {
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
  func ask(_ request: AuthRequest) {
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

  func answer(_ answer: LoginAnswer, for number: UInt32) {
    checks.end(number)
    // A check with a question goes on.
    if case .prompt = answer {} else { serviceChecks.end(number) }
    carryOut(desk.receive(answer, for: number, at: .now), number)
    beginChecks()
  }
}

// Clients.
extension AuthWork {
  private func acceptClients(at listener: FileDescriptor) {
    guard let server else { return }
    for _ in 0..<Self.acceptedAtOnce {
      guard let file = try? listener.accept() else { return }
      guard let address = file.remoteAddress, let connection = TLSConnection(server) else { continue }
      repeat { lastNumber &+= 1 } while clients[lastNumber] != nil || relays?.contains(lastNumber) ?? false
      let number = lastNumber
      let client = Client(file, address, connection)
      clients[number] = client
      desk.open(number, from: address, at: .now)
      closeGone()
      watch(client, number)
      setAlarm(for: number)
    }
  }

  private func watch(_ client: Client, _ number: UInt32) {
    client.reading = try? loop.whenReadable(client.file.number) { [weak self] in self?.isReadable(number) }
    if client.reading == nil { remove(number) }
  }

  /// Those that went for others: who can be told is told to come again.
  func closeGone() {
    for number in desk.takeGone() {
      guard let client = clients[number] else { continue }
      _ = client.connection.send(LoginDesk.turnedAway.frame.bytes)
      client.isEnding = true
      flush(number)
    }
  }

  private func isReadable(_ number: UInt32) {
    guard let client = clients[number], !desk.hasGreeted(number) else { return receive(number) }
    // Not read until its turn.
    client.reading = nil
    _ = handshakes.add(number, from: client.address)
    setTurn()
  }

  private func setTurn() {
    guard turn == nil, handshakes.waiting > 0 else { return }
    turn = try? loop.at(.now) { [weak self] in self?.takeTurn() }
  }

  private func takeTurn() {
    turn = nil
    for _ in 0..<Self.handshakesAtOnce {
      guard let number = handshakes.begin() else { break }
      handshakes.end(number)
      guard let client = clients[number] else { continue }
      watch(client, number)
      receive(number)
    }
    setTurn()
  }

  private func receive(_ number: UInt32) {
    guard let client = clients[number] else { return }
    do throws(SystemError) {
      guard let bytes = try client.file.read(atMost: 4096) else { return }
      if bytes.isEmpty { return remove(number) }
      guard let plain = client.connection.receive(bytes) else {
        // The alert of TLS is sent.
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
  func relay(_ client: Client, _ number: UInt32, _ versions: ClosedRange<UInt8>) {
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

  func flush(_ number: UInt32) {
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
    unchecked[number] = nil
    serviceOrders[number] = nil
    workers.cancel(number)
    handshakes.end(number)
    checks.end(number)
    serviceChecks.end(number)
    desk.close(number)
    asked.end(number)
    tellEnds()
    beginChecks()
  }

  /// A client's deadline may be the next one. One that has moved rings in vain once.
  func setAlarm(for number: UInt32) {
    guard let next = desk.deadline(of: number), alarm.map({ next < $0.at }) ?? true else { return }
    alarm = (try? loop.at(next) { [weak self] in self?.ring() }).map { (next, $0) }
  }

  private func ring() {
    alarm = nil
    for (number, effects) in desk.expire(at: .now) { carryOut(effects, number) }
    if let next = desk.deadline, alarm.map({ next < $0.at }) ?? true {
      alarm = (try? loop.at(next) { [weak self] in self?.ring() }).map { (next, $0) }
    }
  }
}
