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
/// Each request is authorised by the identity that the kernel recorded when the client connected. Every user may connect and read, so
/// everything here is limited (docs/security-processes.md, "The local socket"). A turn of the loop reads from one client and answers one
/// request, after all work of higher priority. The turns of a user are counted (`RequestBudget`), those of root and of the agent's own user
/// are not.
package final class ControlServer {
  /// Enough for every window on a desktop. One more replaces the oldest of the user with the most.
  private static let maximumClients = 64
  /// Enough for a folder of policies with the files that they refer to.
  private static let longestRequest = 1 << 19
  /// The limit for all other users: enough for a policy with its WireGuard file.
  private static let longestOfOthers = 1 << 16
  private static let acceptedAtOnce = 16
  private static let pauseOfAccepting = Duration.milliseconds(5)

  private let loop: EventLoop
  /// `later` takes a request that takes time, or returns false.
  private let answers: (now: (Request, Caller) -> Reply, later: (Request, Caller, @escaping (Reply) -> Void) -> Bool)
  private let authorize: Authorization
  /// The event as a caller may know of it; `nil`: not at all.
  private let shown: (Event.Kind, Caller) -> Event.Kind?
  private var doors: [Door] = []
  private var clients: [Int: ControlConnection] = [:]
  private var accepted = 0
  /// Clients that wait for their turn, in order of arrival.
  private var queue: [Int] = []
  private var turn: EventSource?
  private var budget = RequestBudget()
  private var refill: EventSource?
  private let callers: Callers

  /// Calls back, now or later, with the reason to refuse the request; `nil`: it is allowed. What it returns is kept until then, and
  /// released when the client disconnects.
  package typealias Authorization = (Request, Caller, @escaping (RequestError?) -> Void) -> AnyObject?

  /// `isOwner`: whether a user's requests need no right, and are not counted. `answerLater`: takes a request whose answer comes later, or
  /// returns false; until the answer, the client's further requests wait.
  package init(
    path: String, loop: EventLoop, isOwner: @escaping (PeerCredentials) -> Bool = { $0.user == 0 || $0.user == geteuid() },
    authorize: @escaping Authorization = ControlServer.allowOwners,
    shown: @escaping (Event.Kind, Caller) -> Event.Kind? = { event, _ in event },
    answerLater: @escaping (Request, Caller, @escaping (Reply) -> Void) -> Bool = { _, _, _ in false },
    answer: @escaping (Request, Caller) -> Reply
  ) throws(SystemError) {
    answers = (answer, answerLater)
    self.authorize = authorize
    self.shown = shown
    self.loop = loop
    callers = Callers(isOwner: isOwner)
    turn = try loop.eachTurn { [weak self] in self?.serveNext() }
    turn?.setPriority(.request)
    doors = [
      try Door(path, mode: 0o666, pause: Self.pauseOfAccepting, loop: loop),
      try Door(ControlSocket.ownersPath(of: path), mode: 0o600, pause: .zero, loop: loop),
    ]
    for door in doors { try door.open(atOnce: Self.acceptedAtOnce) { [weak self] in self?.welcome($0) } }
  }

  /// Allows changes to owners only.
  package static func allowOwners(_ request: Request, _ caller: Caller, _ done: (RequestError?) -> Void) -> AnyObject? {
    let right = request.right { _, _ in false } == .read ? Right.read : .administer
    if case .refused(let error) = RightsQuestion(right, of: caller).decision() { done(error) } else { done(nil) }
    return nil
  }

  /// Sends an event to every monitor that may read it.
  package func publish(_ event: Event) {
    // Written for the first of them: a tunnel that connects waits for this.
    var line: String?
    for client in clients.values
    where client.monitors.includes(event.kind) && (client.caller.readsOthers || !event.kind.isAboutOthers) {
      guard let kind = shown(event.kind, client.caller) else { continue }
      if kind != event.kind {
        client.sendEvent(JSON(encoding: Event(time: event.time, kind: kind).report).text() + "\n")
        continue
      }
      let text = line ?? JSON(encoding: event.report).text() + "\n"
      line = text
      client.sendEvent(text)
    }
  }

  /// The cure is for `apply`, which alone has so much to send.
  private static func complaint(_ longest: Int, _ isOwner: Bool) -> String {
    let cure = isOwner ? "put long files into the folder of policies yourself" : "as root, up to \(longestRequest) are taken"
    return "the request exceeds \(longest) bytes; \(cure)"
  }

  private func welcome(_ connection: FileDescriptor) {
    guard let caller = callers.caller(at: connection) else { return }
    let isOwner = caller.isOwner
    if clients.count >= Self.maximumClients { makeRoom() }
    accepted += 1
    let number = accepted
    let longest = isOwner ? Self.longestRequest : Self.longestOfOthers
    let complaint = RequestError(code: isOwner ? .badRequest : .notAllowed, message: Self.complaint(longest, isOwner))
    let client = ControlConnection(
      connection, caller: caller, number: number,
      limit: RequestLimit(bytes: longest, complaint: Reply.refused(complaint).json.text() + "\n"), loop: loop)
    client.whenReady = { [weak self] in self?.enqueue(number) }
    client.whenGone = { [weak self] in self?.clients[number] = nil }
    if client.start() { clients[number] = client }
  }

  /// Closes a connection; an owner's only if there is no other.
  private func makeRoom() {
    let others = clients.values.filter { !$0.caller.isOwner }
    let users = Dictionary(grouping: others.isEmpty ? Array(clients.values) : others, by: \.caller.user)
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
    if let place = queue.firstIndex(where: { clients[$0]?.caller.isOwner ?? false }) { return place }
    var earliest: Moment?
    var empty = Set<UInt32>()
    let now = Moment.now
    for (place, number) in queue.enumerated() {
      guard let user = clients[number]?.caller.user, !empty.contains(user) else { continue }
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
    do {
      let request = try Request(JSON(parsing: line))
      client.awaitReply {
        authorize(request, client.caller) { [weak self, weak client] error in
          guard let self, let client else { return }
          if let error { finish(.refused(error), client) } else { carryOut(request, client) }
        }
      }
    } catch let error as RequestError {
      finish(.refused(error), client)
    } catch {
      finish(.refused(RequestError(code: .badRequest, message: "the request is not a JSON object on one line")), client)
    }
  }

  private func carryOut(_ request: Request, _ client: ControlConnection) {
    let isTaken = answers.later(request, client.caller) { [weak self, weak client] reply in
      if let client { self?.finish(reply, client) }
    }
    if isTaken { return }
    let reply = answers.now(request, client.caller)
    if case .monitor(let snapshots) = request { client.monitors = snapshots ? .everything : .events }
    finish(reply, client)
  }

  private func finish(_ reply: Reply, _ client: ControlConnection) {
    client.endReply(reply.json.text() + "\n")
  }
}

/// Knows the clients of the local socket by their connections.
private struct Callers {
  let isOwner: (PeerCredentials) -> Bool
  private let group = LocalGroup(Caller.groupName)

  init(isOwner: @escaping (PeerCredentials) -> Bool) { self.isOwner = isOwner }

  /// `nil`: the connection has no credentials.
  func caller(at connection: FileDescriptor) -> Caller? {
    guard let peer = connection.peer else { return nil }
    if isOwner(peer) { return Caller(user: peer.user, process: peer.process, isOwner: true) }
    return connection.peerIdentity.map {
      Caller(
        user: $0.credentials.user, process: $0.credentials.process, isMember: group.identifier.map($0.groups.contains) ?? false,
        subject: $0.startTime.map { [process = $0.credentials.process] in .process(process, startTime: $0) })
    }
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
