internal import CAres
internal import Glibc
internal import LinuxIO
internal import NetworkTypes

/// Look-ups of names by c-ares, at the name servers that this host has when the process starts, and in its hosts(5).
///
/// c-ares reports the sockets to watch and its next timer, and is only called from the loop. It is opened before the confinement: it reads
/// resolv.conf and the seed of its query IDs.
final class NameLookUps {
  /// Of a try in milliseconds, and the tries; each round takes longer than the one before.
  private static let patience: (milliseconds: Int32, tries: Int32) = (1500, 2)
  private static let addressLimit = 8

  private let loop: DescriptorLoop
  private let hosts: HostsFile
  private var channel: ares_channel?
  private var sockets: [ares_socket_t: DescriptorLoop.Source] = [:]
  private var wake: DescriptorLoop.Source?

  init(on loop: DescriptorLoop) throws(SystemError) {
    self.loop = loop
    hosts = HostsFile(String(decoding: (try? TextFile.read("/etc/hosts", limit: 1 << 20)) ?? [], as: UTF8.self))
    let status = roamward_ares_open_host(
      &channel, Self.patience.milliseconds, Self.patience.tries,
      { context, socket, readable, writable in
        guard let context else { return }
        Unmanaged<NameLookUps>.fromOpaque(context).takeUnretainedValue().watch(socket, readable != 0, writable != 0)
      }, Unmanaged.passUnretained(self).toOpaque())
    guard status == ARES_SUCCESS else { throw SystemError(code: ENOMEM, operation: "open a channel of c-ares") }
  }

  deinit { if let channel { ares_destroy(channel) } }

  /// What c-ares keeps until it answers.
  private final class Query {
    let loop: DescriptorLoop
    let then: ([IPAddress], String) -> Void
    var later: DescriptorLoop.Source?

    init(_ loop: DescriptorLoop, _ then: @escaping ([IPAddress], String) -> Void) {
      self.loop = loop
      self.then = then
    }

    /// Outside of c-ares.
    func answer(_ addresses: [IPAddress], _ reason: String) {
      later = try? loop.at(.now) { [self] in
        later = nil
        then(addresses, reason)
      }
    }
  }

  /// Calls back later, and once, with the addresses, or with none and the reason.
  func find(_ name: DomainName, then: @escaping (_ addresses: [IPAddress], _ reason: String) -> Void) {
    let query = Query(loop, then)
    let known = hosts[name]
    guard known.isEmpty, let channel else { return query.answer(known, "") }
    var hints = ares_addrinfo_hints(ai_flags: 0, ai_family: AF_UNSPEC, ai_socktype: roamward_stream, ai_protocol: 0)
    ares_getaddrinfo(
      channel, name.text, nil, &hints,
      { context, status, _, found in
        defer { ares_freeaddrinfo(found) }
        guard let context else { return }
        let query = Unmanaged<Query>.fromOpaque(context).takeRetainedValue()
        let addresses = status == ARES_SUCCESS ? NameLookUps.addresses(of: found) : []
        query.answer(addresses, addresses.isEmpty ? "its name has no address: \(NameLookUps.reason(status))" : "")
      }, Unmanaged.passRetained(query).toOpaque())
    pace()
  }

  private static func addresses(of found: UnsafeMutablePointer<ares_addrinfo>?) -> [IPAddress] {
    var addresses: [IPAddress] = []
    var node = found?.pointee.nodes
    while let current = node, addresses.count < addressLimit {
      var bytes = [UInt8](repeating: 0, count: 16)
      let count = roamward_ares_address(current, &bytes)
      if let address = IPAddress(bytes: bytes.prefix(Int(count))), !addresses.contains(address) { addresses.append(address) }
      node = current.pointee.ai_next
    }
    return addresses
  }

  private static func reason(_ status: Int32) -> String { ares_strerror(status).map { String(cString: $0) } ?? "error \(status)" }

  private func watch(_ socket: ares_socket_t, _ readable: Bool, _ writable: Bool) {
    sockets.removeValue(forKey: socket)?.cancel()
    guard readable || writable else { return }
    let events = (readable ? Readiness.readable : 0) | (writable ? Readiness.writable : 0)
    sockets[socket] = try? loop.whenReady(socket, events: events) { [weak self] bits in
      // An error has to be read from the socket to be cleared.
      let canRead = bits & (Readiness.readable | Readiness.ended) != 0
      self?.process(canRead ? socket : ares_socket_t(-1), bits & Readiness.writable != 0 ? socket : ares_socket_t(-1))
    }
  }

  private func process(_ readable: ares_socket_t, _ writable: ares_socket_t) {
    ares_process_fd(channel, readable, writable)
    pace()
  }

  /// Sets the timer to the next time-out of c-ares.
  private func pace() {
    var time = timeval()
    guard ares_timeout(channel, nil, &time) != nil else {
      wake = nil
      return
    }
    // Its clock and ours may differ in the last digit: an additional millisecond prevents a busy loop.
    let wait = Duration.seconds(time.tv_sec) + .microseconds(time.tv_usec) + .milliseconds(1)
    wake = try? loop.at(.now + wait) { [weak self] in self?.process(ares_socket_t(-1), ares_socket_t(-1)) }
  }
}
