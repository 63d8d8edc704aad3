internal import GatewayCore
internal import GatewayLogin
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes

/// The connections of clients at the listening sockets, by number: their sockets and TLS. Handshakes take turns.
final class AuthClients {
  /// The work that takes what clients say.
  protocol Receiver: AnyObject {
    func opened(_ number: UInt32, from address: IPAddress)
    /// Whether the client has sent a whole message: it takes no turns then.
    func hasGreeted(_ number: UInt32) -> Bool
    func received(_ bytes: [UInt8], from number: UInt32)
    /// The connection is gone.
    func closed(_ number: UInt32)
  }

  private final class Client {
    /// A client is read from, waits for its turn, or is sent its last bytes.
    enum State {
      case reading(DescriptorLoop.Source)
      case waiting
      case ending
    }

    let file: FileDescriptor
    let address: IPAddress
    let connection: TLSConnection
    var state = State.waiting
    /// The times that it was heard before its first message was whole.
    var says = 0

    init(_ file: FileDescriptor, _ address: IPAddress, _ connection: TLSConnection) {
      self.file = file
      self.address = address
      self.connection = connection
    }

    var isEnding: Bool { if case .ending = state { true } else { false } }
  }

  /// So many are read between two looks at all other connections.
  private static let handshakesAtOnce = 4
  private static let acceptedAtOnce = 32

  private let loop: DescriptorLoop
  private let server: TLSServer
  private let relays: Relays?
  private weak var receiver: (any Receiver)?
  private var listeners: [(file: FileDescriptor, source: DescriptorLoop.Source)] = []
  private var clients: [UInt32: Client] = [:]
  private var lastNumber: UInt32 = 0
  /// Connections that say something before their first message is whole: handshakes of TLS, which cost more than all that follows.
  private var handshakes = WorkQueue(atWork: 1, newcomer: .first)
  /// The second message of each, before all first ones: where more handshakes begin than can be served, none would be finished otherwise.
  /// Later messages take turns with first ones, so that no client holds up others with a little of each.
  private var begunHandshakes = WorkQueue(atWork: 1, newcomer: .first)
  private var turn: DescriptorLoop.Source?

  /// `relays`: `nil`: nothing is relayed.
  init(_ server: TLSServer, relays: Relays?, on loop: DescriptorLoop, _ receiver: any Receiver) {
    self.server = server
    self.relays = relays
    self.loop = loop
    self.receiver = receiver
  }

  func address(of number: UInt32) -> IPAddress? { clients[number]?.address }

  func listen(at passed: FileDescriptor) {
    guard let source = try? loop.whenReadable(passed.number, { [weak self] in self?.accept(at: passed) }) else { return loop.stop() }
    listeners.append((passed, source))
  }

  private func accept(at listener: FileDescriptor) {
    for _ in 0..<Self.acceptedAtOnce {
      guard let file = try? listener.accept() else { return }
      guard let address = file.remoteAddress, let connection = TLSConnection(server) else { continue }
      repeat { lastNumber &+= 1 } while clients[lastNumber] != nil || relays?.contains(lastNumber) ?? false
      let number = lastNumber
      clients[number] = Client(file, address, connection)
      receiver?.opened(number, from: address)
      if let client = clients[number] { watch(client, number) }
    }
  }

  private func watch(_ client: Client, _ number: UInt32) {
    let source = try? loop.whenReadable(client.file.number) { [weak self] in self?.isReadable(number) }
    guard let source else { return remove(number) }
    client.state = .reading(source)
  }

  private func isReadable(_ number: UInt32) {
    guard let client = clients[number], receiver?.hasGreeted(number) == false else { return receive(number) }
    // Not read until its turn.
    client.state = .waiting
    if client.says == 1 {
      _ = begunHandshakes.add(number, from: client.address)
    } else {
      _ = handshakes.add(number, from: client.address)
    }
    setTurn()
  }

  private func setTurn() {
    guard turn == nil, handshakes.waiting + begunHandshakes.waiting > 0 else { return }
    turn = try? loop.at(.now) { [weak self] in self?.takeTurn() }
  }

  private func takeTurn() {
    turn = nil
    for _ in 0..<Self.handshakesAtOnce {
      guard let number = begunHandshakes.begin() ?? handshakes.begin() else { break }
      begunHandshakes.end(number)
      handshakes.end(number)
      guard let client = clients[number] else { continue }
      client.says += 1
      watch(client, number)
      receive(number)
    }
    setTurn()
  }

  private func receive(_ number: UInt32) {
    guard let client = clients[number] else { return }
    do throws(SystemError) {
      guard var bytes = try client.file.read(atMost: 4096) else { return }
      // One that has gone while it waited costs no handshake.
      if receiver?.hasGreeted(number) == false, let more = try client.file.read(atMost: 4096) { bytes = more.isEmpty ? [] : bytes + more }
      if bytes.isEmpty { return remove(number) }
      guard let plain = client.connection.receive(bytes) else {
        // The alert of TLS is sent.
        client.state = .ending
        return flush(number)
      }
      receiver?.received(plain, from: number)
    } catch {
      remove(number)
    }
  }

  /// Queues a message; `flush` sends it.
  func send(_ message: GatewayMessage, to number: UInt32) {
    guard let client = clients[number] else { return }
    if !client.connection.send(message.frame.bytes) { client.state = .ending }
  }

  /// Nothing follows: `flush` ends the connection.
  func end(_ number: UInt32) { clients[number]?.state = .ending }

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

  /// Hands a connection over to the relays, if they take it.
  func relay(_ number: UInt32, _ versions: ClosedRange<UInt8>) {
    guard let client = clients[number] else { return }
    var refusal = GatewayMessage.failed(.unsupported, retryAfter: 0)
    if !versions.contains(RelayTable.version) {
      refusal = .failed(.version, retryAfter: 0)
    } else if let relays {
      // A descriptor has one source at a time.
      client.state = .waiting
      if relays.begin(number, client.file, client.connection, from: client.address) {
        clients[number] = nil
        return
      }
      refusal = .failed(.later, retryAfter: 30)
    }
    send(refusal, to: number)
    end(number)
  }

  private func remove(_ number: UInt32) {
    guard let client = clients.removeValue(forKey: number) else { return }
    client.state = .ending
    handshakes.end(number)
    begunHandshakes.end(number)
    receiver?.closed(number)
  }
}
