internal import CAres
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import ProbeProtocol
internal import ResolverLibrary

/// A channel of c-ares, for one look-up at a time. It is opened before the confinement: the seed of its query IDs comes from a file.
///
/// c-ares reports the sockets to watch and its next timer, and is only called from the loop. Its callbacks are recorded, and handled after
/// it has returned.
final class LookUpChannel {
  /// The total limit in milliseconds, over all servers and both rounds.
  private static let limit = 5000
  private static let rounds: Int32 = 2

  private var channel: ares_channel?
  /// c-ares keeps the pointer.
  private let functions = UnsafeMutablePointer<ares_socket_functions>.allocate(capacity: 1)
  private let loop: DescriptorLoop
  private let watched: AresSockets
  private let broker: SocketBroker

  private var errand: UInt32 = 0
  private var isStream: [ares_socket_t: Bool] = [:]
  private var later: DescriptorLoop.Source?
  private var answer: ErrandAnswer?
  /// The reason why the agent refused a socket.
  private var refusal: String?
  private var handler: ((ErrandAnswer) -> Void)?

  /// `servers`: the number of servers that a look-up queries.
  init(servers: Int, _ broker: SocketBroker, on loop: DescriptorLoop) throws(SystemError) {
    self.loop = loop
    self.broker = broker
    watched = AresSockets(on: loop)
    let context = Unmanaged.passUnretained(self).toOpaque()
    // c-ares doubles its time-out for the second round: all of it must end shortly before the limit.
    let milliseconds = Int32(Self.limit * 9 / 10 / (3 * servers))
    let status = roamward_ares_open(
      &channel, 0, milliseconds, Self.rounds,
      { context, socket, readable, writable in LookUpChannel.from(context)?.watched.watch(socket, readable != 0, writable != 0) }, context)
    guard status == ARES_SUCCESS, let channel else {
      throw SystemError(code: ENOMEM, operation: "open a channel of c-ares")
    }
    functions.initialize(to: Self.socketFunctions)
    ares_set_socket_functions(channel, functions, context)
    watched.process = { [weak self] in self?.process($0, $1) }
  }

  deinit {
    if let channel { ares_destroy(channel) }
    functions.deallocate()
  }

  /// Starts a look-up; `then` is called once, later, never during this call.
  func ask(_ order: LookUp, for errand: UInt32, then: @escaping (ErrandAnswer) -> Void) {
    self.errand = errand
    answer = nil
    refusal = nil
    handler = then
    let servers = order.servers.map { $0.address.family == .v6 ? "[\($0.address)]:\($0.port)" : "\($0.address):\($0.port)" }
    let status = ares_set_servers_ports_csv(channel, servers.joined(separator: ","))
    if status == ARES_SUCCESS {
      // The agent sorts the addresses: it queries the kernel for its own address towards each.
      let flags = Int32(ARES_AI_NOSORT)
      var hints = ares_addrinfo_hints(ai_flags: flags, ai_family: AF_UNSPEC, ai_socktype: roamward_datagram, ai_protocol: 0)
      ares_getaddrinfo(
        channel, order.name.text, nil, &hints, { context, status, _, found in LookUpChannel.from(context)?.take(status, found) },
        Unmanaged.passUnretained(self).toOpaque())
    } else {
      answer = failure(status)
    }
    if answer == nil { return watched.pace(channel) }
    // A result that is known at once is also delivered from the loop.
    later = try? loop.at(.now) { [weak self] in self?.settle() }
  }

  /// Cancels the look-up in progress; its handler is not called any more.
  func cancel() {
    handler = nil
    later = nil
    watched.rest()
    // Reports the query as cancelled and every socket as closed, through the callbacks below.
    if let channel { ares_cancel(channel) }
  }
}

// Callbacks of c-ares.
extension LookUpChannel {
  private static func from(_ context: UnsafeMutableRawPointer?) -> LookUpChannel? {
    context.map { Unmanaged<LookUpChannel>.fromOpaque($0).takeUnretainedValue() }
  }

  private static var socketFunctions: ares_socket_functions {
    ares_socket_functions(
      // The destination is only known at `connect`: until then, the number belongs to a duplicate of an inert descriptor.
      asocket: { _, type, _, context in
        let placeholder = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
        if placeholder >= 0 { LookUpChannel.from(context)?.isStream[placeholder] = type == roamward_stream }
        return placeholder
      },
      aclose: { socket, context in
        LookUpChannel.from(context)?.isStream[socket] = nil
        return close(socket)
      },
      aconnect: { socket, address, _, context in
        guard let address else { return -1 }
        return LookUpChannel.from(context)?.connect(socket, address) ?? -1
      },
      arecvfrom: { socket, bytes, count, flags, address, length, _ in recvfrom(socket, bytes, count, flags, address, length) },
      asendv: { socket, pieces, count, _ in writev(socket, pieces, count) })
  }

  private func connect(_ socket: ares_socket_t, _ address: UnsafePointer<sockaddr>) -> Int32 {
    var bytes = [UInt8](repeating: 0, count: 16)
    var port: UInt16 = 0
    let count = roamward_ares_destination(address, &bytes, &port)
    guard let address = IPAddress(bytes: bytes.prefix(Int(count))) else { return fail(EAFNOSUPPORT) }
    do throws(SocketBroker.Trouble) {
      let transport = isStream[socket] == true ? SocketWish.Transport.tcp : .udp
      let file = try broker.socket(transport, to: Destination(address, port: port), for: errand)
      return dup2(file.number, socket) < 0 ? -1 : 0
    } catch {
      if case .refused(let reason) = error { refusal = reason }
      return fail(ENETUNREACH)
    }
  }

  private func fail(_ code: Int32) -> Int32 {
    errno = code
    return -1
  }

  private func take(_ status: Int32, _ found: UnsafeMutablePointer<ares_addrinfo>?) {
    defer { ares_freeaddrinfo(found) }
    guard status == ARES_SUCCESS else {
      answer = failure(status)
      return
    }
    let addresses = addresses(of: found, limit: ProbeLimits.addresses)
    answer = addresses.isEmpty ? .noAddress : .addresses(addresses)
  }

  private func failure(_ status: Int32) -> ErrandAnswer {
    if let refusal { return .failed(reason: refusal) }
    return switch status {
    case ARES_ENOTFOUND: .noSuchName
    case ARES_ENODATA: .noAddress
    case ARES_ETIMEOUT: .silence
    default: .failed(reason: words(ofAres: status))
    }
  }
}

// Callbacks of the loop.
extension LookUpChannel {
  private func process(_ readable: ares_socket_t, _ writable: ares_socket_t) {
    guard handler != nil else { return }
    ares_process_fd(channel, readable, writable)
    if answer == nil { watched.pace(channel) } else { settle() }
  }

  private func settle() {
    guard let answer, let handler else { return }
    self.handler = nil
    later = nil
    watched.rest()
    handler(answer)
  }
}
