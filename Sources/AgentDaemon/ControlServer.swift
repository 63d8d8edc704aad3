import AgentCore
package import ControlProtocol
internal import Glibc
internal import JSON
package import LinuxIO
import LinuxPlatform
internal import NetworkTypes
package import SystemdIO

/// The local socket: one line of JSON for each request and reply; for monitors, one line for each event.
///
/// Each request is authorised by the credentials that the kernel recorded when the client connected. Every user may connect and read, so
/// everything here is limited (docs/security.md, "The local socket"). A turn of the loop reads from one client and answers one request,
/// after all work of higher priority. The turns of a user are counted (`RequestBudget`), those of root and of the agent's own user are not.
package final class ControlServer {
  /// Enough for every window on a desktop. One more replaces the oldest of the user with the most.
  private static let maximumClients = 64
  /// Enough for a folder of policies with the files that they refer to.
  private static let longestRequest = 1 << 19
  /// The limit for users with read-only access.
  private static let longestLook = 4096
  private static let acceptedAtOnce = 16
  private static let pauseOfAccepting = Duration.milliseconds(5)

  private let loop: EventLoop
  private let answer: (Request, PeerCredentials) -> Reply
  /// Answers requests that take time: false if it is none.
  private let answerLater: (Request, PeerCredentials, @escaping (Reply) -> Void) -> Bool
  private var doors: [Door] = []
  private var clients: [Int: ControlConnection] = [:]
  private var accepted = 0
  /// Clients that wait for their turn, in order of arrival.
  private var queue: [Int] = []
  private var turn: EventSource?
  private var budget = RequestBudget()
  private var refill: EventSource?
  private let isOwner: (PeerCredentials) -> Bool

  /// `isOwner`: whether a user's requests may change state, and are not counted. `answerLater`: takes a request whose answer comes later,
  /// or returns false; until the answer, the client's further requests wait.
  package init(
    path: String, loop: EventLoop, isOwner: @escaping (PeerCredentials) -> Bool = { $0.user == 0 || $0.user == geteuid() },
    answerLater: @escaping (Request, PeerCredentials, @escaping (Reply) -> Void) -> Bool = { _, _, _ in false },
    answer: @escaping (Request, PeerCredentials) -> Reply
  ) throws(SystemError) {
    self.answerLater = answerLater
    self.loop = loop
    self.isOwner = isOwner
    self.answer = answer
    turn = try loop.eachTurn { [weak self] in self?.serveNext() }
    turn?.setPriority(.request)
    doors = [
      try Door(path, mode: 0o666, pause: Self.pauseOfAccepting, loop: loop),
      try Door(ControlSocket.ownersPath(of: path), mode: 0o600, pause: .zero, loop: loop),
    ]
    for door in doors { try door.open(atOnce: Self.acceptedAtOnce) { [weak self] in self?.welcome($0) } }
  }

  /// Sends an event to every monitor.
  package func publish(_ event: Event) {
    // Written for the first of them: a tunnel that connects waits for this.
    var line: String?
    for client in clients.values where client.monitors.includes(event.kind) {
      let text = line ?? JSON(encoding: event.report).text() + "\n"
      line = text
      client.send(text)
    }
  }

  private func welcome(_ connection: FileDescriptor) {
    guard let peer = connection.peer else { return }
    if clients.count >= Self.maximumClients { makeRoom() }
    accepted += 1
    let number = accepted
    let longest = isOwner(peer) ? Self.longestRequest : Self.longestLook
    let complaint = RequestError(code: isOwner(peer) ? .badRequest : .notAllowed, message: "the request exceeds \(longest) bytes")
    let client = ControlConnection(
      connection, peer: peer, number: number, longestRequest: longest, complaint: Reply.refused(complaint).json.text() + "\n")
    client.whenReady = { [weak self] in self?.enqueue(number) }
    client.whenGone = { [weak self] in self?.clients[number] = nil }
    if client.start(on: loop) { clients[number] = client }
  }

  /// Closes a connection; an owner's only if there is no other.
  private func makeRoom() {
    let others = clients.values.filter { !isOwner($0.peer) }
    let users = Dictionary(grouping: others.isEmpty ? Array(clients.values) : others, by: \.peer.user)
    let crowd = users.max { ($0.value.count, $0.key) < ($1.value.count, $1.key) }?.value
    crowd?.min { $0.number < $1.number }?.hangUp()
  }

  // MARK: Turns

  private func enqueue(_ number: Int) {
    queue.append(number)
    turn?.isEnabled = true
  }

  /// Serves one client: an owner's first, then the one that has waited longest and whose user has turns left.
  private func serveNext() {
    refill = nil
    queue.removeAll { clients[$0] == nil }
    guard let place = nextPlace() else {
      turn?.isEnabled = false
      return
    }
    guard let client = clients[queue.remove(at: place)] else { return }
    client.takeTurn { [weak self, weak client] line in if let self, let client { serve(line, client) } }
    turn?.isEnabled = !queue.isEmpty
  }

  private func nextPlace() -> Int? {
    if let place = queue.firstIndex(where: { clients[$0].map { isOwner($0.peer) } ?? false }) { return place }
    var earliest: Moment?
    var empty = Set<UInt32>()
    let now = Moment.now
    for (place, number) in queue.enumerated() {
      guard let user = clients[number]?.peer.user, !empty.contains(user) else { continue }
      guard let next = budget.take(for: user, at: now) else { return place }
      empty.insert(user)
      earliest = min(earliest ?? next, next)
    }
    if let earliest {
      refill = try? loop.at(earliest) { [weak self] in self?.turn?.isEnabled = true }
      refill?.setPriority(.client)
    }
    return nil
  }

  private func serve(_ line: [UInt8], _ client: ControlConnection) {
    let reply: Reply
    do {
      let request = try Request(JSON(parsing: line))
      if request.isChange, !isOwner(client.peer) {
        let words = "only root and the agent's own user may do this; you are user \(client.peer.user)"
        reply = .refused(RequestError(code: .notAllowed, message: words))
      } else {
        client.awaitsReply = true
        let isTaken = answerLater(request, client.peer) { [weak client] reply in
          client?.awaitsReply = false
          client?.send(reply.json.text() + "\n")
        }
        if isTaken { return }
        client.awaitsReply = false
        reply = answer(request, client.peer)
        if case .monitor(let snapshots) = request { client.monitors = snapshots ? .everything : .events }
      }
    } catch let error as RequestError {
      reply = .refused(error)
    } catch {
      reply = .refused(RequestError(code: .badRequest, message: "the request is not a JSON object on one line"))
    }
    client.send(reply.json.text() + "\n")
  }
}

/// A listening socket. It pauses after a few connections: no other limit covers a client that repeatedly connects and disconnects.
private final class Door {
  private let path: String
  private let socket: FileDescriptor
  private let pause: Duration
  private let loop: EventLoop
  private var listening: EventSource?
  private var resting: EventSource?
  private var atOnce = 1
  private var welcome: (FileDescriptor) -> Void = { _ in }

  init(_ path: String, mode: UInt32, pause: Duration, loop: EventLoop) throws(SystemError) {
    self.path = path
    self.pause = pause
    self.loop = loop
    socket = try FileDescriptor.listen(at: path, mode: mode)
  }

  deinit { unlink(path) }

  func open(atOnce: Int, _ welcome: @escaping (FileDescriptor) -> Void) throws(SystemError) {
    self.atOnce = atOnce
    self.welcome = welcome
    try listen()
  }

  private func listen() throws(SystemError) {
    listening = try loop.whenReadable(socket.number) { [weak self] in self?.acceptSome() }
    listening?.setPriority(.client)
  }

  private func acceptSome() {
    for _ in 0..<atOnce {
      do throws(SystemError) {
        guard let connection = try socket.accept() else { return }
        welcome(connection)
      } catch {
        // Without free descriptors the socket would stay readable all the time.
        return rest(for: .milliseconds(100))
      }
    }
    if pause > .zero { rest(for: pause) }
  }

  private func rest(for duration: Duration) {
    guard let timer = try? loop.at(.now + duration, { [weak self] in self?.goOn() }) else { return }
    timer.setPriority(.client)
    resting = timer
    listening = nil
  }

  private func goOn() {
    resting = nil
    do throws(SystemError) { try listen() } catch { rest(for: .milliseconds(100)) }
  }
}
