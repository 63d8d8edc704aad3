internal import CAres
internal import CLinux
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// One question to c-ares, on a channel of its own.
///
/// c-ares says which of its sockets it wants watched and when it wants to be woken; it is only ever entered from the loop. What it calls
/// back is noted, and acted on after it has returned: it must not be destroyed from within its own callback.
final class AresQuery {
  private let name: DomainName
  private let servers: [String]
  private let link: String?
  private let mark: UInt32?
  private let limit: Duration
  private let loop: EventLoop
  private var handler: ((Result<[IPAddress], ResolveError>) -> Void)?

  private var channel: ares_channel?
  private var sockets: [ares_socket_t: EventSource] = [:]
  private var wake: EventSource?
  private var deadline: EventSource?
  private var answer: Result<[IPAddress], ResolveError>?
  /// Why the kernel would not bind or mark a socket.
  private var refusal: SystemError?

  init(
    _ name: DomainName, servers: [String], link: String?, mark: UInt32?, limit: Duration, on loop: EventLoop,
    then handler: @escaping (Result<[IPAddress], ResolveError>) -> Void
  ) {
    self.name = name
    self.servers = servers
    self.link = link
    self.mark = mark
    self.limit = limit
    self.loop = loop
    self.handler = handler
  }

  func begin() {
    deadline = try? loop.at(.now + limit) { [weak self] in self.map { $0.finish(.failure(.timedOut($0.name))) } }
    if deadline != nil, open() { ask() }
    if answer == nil { return pace() }
    // Known at once (the hosts file, or a failure): told from the loop all the same.
    wake = try? loop.at(.now) { [weak self] in self?.settle() }
  }

  /// Frees everything; the handler is not called any more.
  func close() {
    handler = nil
    wake = nil
    deadline = nil
    guard let channel else { return }
    self.channel = nil
    for source in sockets.values { source.cancel() }
    sockets = [:]
    // Reports the question as destroyed and every socket as closed, through the callbacks below.
    ares_destroy(channel)
  }

  private func open() -> Bool {
    let context = Unmanaged.passUnretained(self).toOpaque()
    let status = roamward_ares_open(
      &channel, millisecondsATry, 2, servers.isEmpty ? 0 : 1,
      { context, socket, readable, writable in AresQuery.from(context)?.watch(socket, readable != 0, writable != 0) }, context)
    guard status == ARES_SUCCESS, let channel else { return fail(status) }
    ares_set_socket_configure_callback(channel, { socket, _, context in AresQuery.from(context)?.configure(socket) ?? -1 }, context)
    if !servers.isEmpty {
      let status = ares_set_servers_ports_csv(channel, servers.joined(separator: ","))
      guard status == ARES_SUCCESS else { return fail(status) }
    }
    return true
  }

  private func ask() {
    var hints = ares_addrinfo_hints(ai_flags: 0, ai_family: AF_UNSPEC, ai_socktype: Int32(SOCK_DGRAM.rawValue), ai_protocol: 0)
    ares_getaddrinfo(
      channel, name.text, nil, &hints, { context, status, _, found in AresQuery.from(context)?.take(status, found) },
      Unmanaged.passUnretained(self).toOpaque())
  }

  /// c-ares doubles its patience for the second round: all of it is to be over shortly before the deadline.
  private var millisecondsATry: Int32 {
    let (seconds, attoseconds) = limit.components
    let whole = seconds * 1000 + attoseconds / 1_000_000_000_000_000
    return Int32(clamping: max(1, whole * 9 / 10 / (3 * Int64(max(1, servers.count)))))
  }
}

// What c-ares calls.
extension AresQuery {
  private static func from(_ context: UnsafeMutableRawPointer?) -> AresQuery? {
    context.map { Unmanaged<AresQuery>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Before a socket is connected. Not ares_set_local_dev(3): that passes over a failure, and the question would go into the tunnel.
  private func configure(_ socket: ares_socket_t) -> Int32 {
    if let link, clinux_bind_to_device(socket, link) != 0 { return refuse("bind to \(link)") }
    if let mark, clinux_set_mark(socket, mark) != 0 { return refuse("set the firewall mark") }
    return 0
  }

  private func refuse(_ operation: String) -> Int32 {
    refusal = .last(operation)
    return -1
  }

  private func watch(_ socket: ares_socket_t, _ readable: Bool, _ writable: Bool) {
    // At once, though this may be within its callback: c-ares closes the socket next, or wants other events of it.
    sockets.removeValue(forKey: socket)?.cancel()
    guard readable || writable, channel != nil else { return }
    let events = (readable ? EPOLLIN.rawValue : 0) | (writable ? EPOLLOUT.rawValue : 0)
    sockets[socket] = try? loop.whenReady(socket, events: events) { [weak self] bits in
      // An error has to be read off the socket to go away.
      let canRead = bits & (EPOLLIN.rawValue | EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
      self?.process(canRead ? socket : ares_socket_t(-1), bits & EPOLLOUT.rawValue != 0 ? socket : ares_socket_t(-1))
    }
  }

  private func take(_ status: Int32, _ found: UnsafeMutablePointer<ares_addrinfo>?) {
    defer { ares_freeaddrinfo(found) }
    guard status == ARES_SUCCESS else {
      _ = fail(status)
      return
    }
    var addresses: [IPAddress] = []
    var node = found?.pointee.nodes
    while let current = node {
      var bytes = [UInt8](repeating: 0, count: 16)
      let count = roamward_ares_address(current, &bytes)
      if let address = IPAddress(bytes: bytes.prefix(Int(count))), !addresses.contains(address) { addresses.append(address) }
      node = current.pointee.ai_next
    }
    answer = addresses.isEmpty ? .failure(.noAddress(name)) : .success(addresses)
  }

  /// Notes the failure; `false` for the convenience of the caller.
  private func fail(_ status: Int32) -> Bool {
    let error: ResolveError =
      switch status {
      case _ where refusal != nil: .notSent(name, because: refusal?.description ?? "")
      case _ where servers.isEmpty: .noServers(name)
      case ARES_ENOTFOUND: .noSuchName(name)
      case ARES_ENODATA: .noAddress(name)
      case ARES_ETIMEOUT: .timedOut(name)
      default: .failed(name, because: ares_strerror(status).map { String(cString: $0) } ?? "error \(status)")
      }
    answer = .failure(error)
    return false
  }
}

// What the loop calls.
extension AresQuery {
  private func process(_ readable: ares_socket_t, _ writable: ares_socket_t) {
    guard let channel else { return }
    ares_process_fd(channel, readable, writable)
    if answer == nil { pace() } else { settle() }
  }

  /// Wakes c-ares when it wants to give up a server.
  private func pace() {
    var time = timeval()
    guard let channel, ares_timeout(channel, nil, &time) != nil else {
      wake = nil
      return
    }
    // Its clock and ours may differ in the last digit: a millisecond more keeps them from asking each other in a circle.
    let wait = Duration.seconds(time.tv_sec) + .microseconds(time.tv_usec) + .milliseconds(1)
    wake = try? loop.at(.now + wait) { [weak self] in self?.process(ares_socket_t(-1), ares_socket_t(-1)) }
  }

  private func settle() {
    if let answer { finish(answer) }
  }

  private func finish(_ result: Result<[IPAddress], ResolveError>) {
    let handler = handler
    close()
    handler?(result)
  }
}
