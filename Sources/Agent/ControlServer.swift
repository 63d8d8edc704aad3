internal import ControlProtocol
internal import Glibc
internal import LinuxIO
internal import NetworkTypes

/// The local socket: a line of JSON in, a line of JSON out; to monitors, a line an event.
///
/// Who may do what is decided for each request from the credentials that the kernel gave when the client connected.
final class ControlServer {
  /// Enough for every window on a desktop. One more takes the place of the oldest of whoever has most, so that nobody's crowd keeps others out.
  private static let maximumClients = 64
  /// A folder of policies has to fit, with the files that they name.
  private static let longestRequest = 1 << 19

  private let loop: EventLoop
  private let socket: FileDescriptor
  private let path: String
  private let answer: (Request, PeerCredentials) -> Reply
  private var listening: EventSource?
  private var resting: EventSource?
  private var clients: [Int32: Client] = [:]
  private var accepted = 0

  init(path: String, loop: EventLoop, answer: @escaping (Request, PeerCredentials) -> Reply) throws(SystemError) {
    self.loop = loop
    self.path = path
    self.answer = answer
    // Everybody may connect and look; what changes something is asked of the right people alone.
    socket = try FileDescriptor.listen(at: path, mode: 0o666)
    listening = try loop.whenReadable(socket.number) { [weak self] in self?.acceptAll() }
  }

  /// Without descriptors left, whoever connects has to wait, and the socket stays readable all the while: it is left alone for a moment.
  private func rest() {
    guard let timer = try? loop.at(.now + .milliseconds(100), { [weak self] in self?.goOn() }) else { return }
    resting = timer
    listening = nil
  }

  private func goOn() {
    resting = nil
    listening = try? loop.whenReadable(socket.number) { [weak self] in self?.acceptAll() }
    if listening == nil { rest() }
  }

  deinit { unlink(path) }

  /// Sends an event to every monitor.
  func publish(_ event: Event) {
    let line = event.json.text() + "\n"
    for client in clients.values where client.monitors.includes(event.kind) { client.send(line) }
  }

  private func acceptAll() {
    while let connection = next() {
      guard let peer = connection.peer else { continue }
      if clients.count >= Self.maximumClients { makeRoom() }
      let number = connection.number
      accepted += 1
      let client = Client(connection, peer: peer, number: accepted, loop: loop, longestRequest: Self.longestRequest)
      client.whenLine = { [weak self, weak client] line in if let client { self?.serve(line, client) } }
      client.whenGone = { [weak self] in self?.clients[number] = nil }
      if client.start() { clients[number] = client }
    }
  }

  /// The next that waits; `nil` where none does, or none can be taken.
  private func next() -> FileDescriptor? {
    do throws(SystemError) {
      return try socket.accept()
    } catch {
      rest()
      return nil
    }
  }

  private func makeRoom() {
    let users = Dictionary(grouping: clients.values, by: \.peer.user)
    let crowd = users.max { ($0.value.count, $0.key) < ($1.value.count, $1.key) }?.value
    crowd?.min { $0.number < $1.number }?.hangUp()
  }

  private func serve(_ line: [UInt8], _ client: Client) {
    let reply: Reply
    do {
      let request = try Request(JSON(parsing: line))
      if request.isChange, !mayChange(client.peer) {
        let words = "only root and the agent's own user may change what it does; you are user \(client.peer.user)"
        reply = .refused(RequestError(code: .notAllowed, message: words))
      } else {
        reply = answer(request, client.peer)
        if case .monitor(let snapshots) = request { client.monitors = snapshots ? .everything : .events }
      }
    } catch let error as RequestError {
      reply = .refused(error)
    } catch {
      reply = .refused(RequestError(code: .badRequest, message: "the request is not a JSON object on a line"))
    }
    client.send(reply.json.text() + "\n")
  }

  private func mayChange(_ peer: PeerCredentials) -> Bool { peer.user == 0 || peer.user == geteuid() }
}

/// What a client is told without asking again.
private enum Monitoring {
  case nothing, events
  /// Events, and every network that is seen.
  case everything

  func includes(_ event: Event.Kind) -> Bool {
    if case .snapshot = event { self == .everything } else { self != .nothing }
  }
}

/// One connection. What it does not read in time it loses: the agent keeps a bounded backlog, and then hangs up.
private final class Client {
  private static let longestBacklog = 1 << 20

  let peer: PeerCredentials
  /// Counts up from the first.
  let number: Int
  var monitors = Monitoring.nothing
  var whenLine: ([UInt8]) -> Void = { _ in }
  var whenGone: () -> Void = {}
  private let connection: FileDescriptor
  private let loop: EventLoop
  private let longestRequest: Int
  private var input: [UInt8] = []
  private var output: [UInt8] = []
  /// Of both directions: the loop watches a descriptor once.
  private var source: EventSource?
  private var awaitsRoom = false

  init(_ connection: FileDescriptor, peer: PeerCredentials, number: Int, loop: EventLoop, longestRequest: Int) {
    self.connection = connection
    self.peer = peer
    self.number = number
    self.loop = loop
    self.longestRequest = longestRequest
  }

  func start() -> Bool { watch() }

  private func watch() -> Bool {
    source = nil
    source = try? loop.whenReadable(connection.number, orWritable: awaitsRoom) { [weak self] canRead, canWrite in
      if canWrite { self?.flush() }
      if canRead, self?.source != nil { self?.receive() }
    }
    return source != nil
  }

  func send(_ text: String) {
    guard source != nil else { return }
    output += Array(text.utf8)
    flush()
  }

  private func receive() {
    do throws(SystemError) {
      guard let bytes = try connection.read() else { return }
      guard !bytes.isEmpty else { return hangUp() }
      input += bytes
    } catch {
      return hangUp()
    }
    while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
      let line = Array(input[..<end])
      input.removeSubrange(...end)
      whenLine(line)
    }
    if input.count > longestRequest { hangUp() }
  }

  private func flush() {
    do throws(SystemError) {
      while !output.isEmpty {
        let count = try connection.write(output[...])
        if count == 0 { break }
        output.removeFirst(count)
      }
    } catch {
      return hangUp()
    }
    if output.count > Self.longestBacklog { return hangUp() }
    guard awaitsRoom == output.isEmpty else { return }
    awaitsRoom = !output.isEmpty
    if !watch() { hangUp() }
  }

  func hangUp() {
    source = nil
    whenGone()
  }
}
