internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import ProcessConfinement

/// A connection by TCP to a server that nothing is known of, in a process that reads its bytes for another program.
///
/// The process gives up its privileges before it looks up the name, and all system calls but those for this connection before it reads a
/// byte of the server.
struct StrangersConnection {
  enum Failure: Error {
    /// The name has no address; the resolver's reason.
    case noAddress(String)
    /// No address takes a connection; the reason of the last one.
    case noConnection(String)
    /// This machine does not allow it.
    case local(SystemError)
  }

  /// Addresses that are tried.
  private static let addressLimit = 4

  private let socket: FileDescriptor

  /// - Parameter patience: of all attempts to connect, after the look-up of the name.
  init(to server: Endpoint, within patience: Duration) throws(Failure) {
    do throws(SystemError) {
      try Confinement.giveUpPrivileges(becoming: "roamward-provider")
      try Confinement.endWithParent()
      try Confinement.limit(descriptors: 32, memory: 128 << 20)
    } catch {
      throw .local(error)
    }
    socket = try Self.connect(to: server, within: patience)
    do throws(SystemError) {
      let result = try SystemCallFilter(PinFilter.rules(process: getpid())).load()
      guard result == 0 else { throw SystemError(code: result, operation: "confine system calls") }
    } catch {
      throw .local(error)
    }
  }

  func writeAll(_ bytes: [UInt8]) throws(SystemError) { try socket.writeAll(bytes) }

  /// Waits for bytes, and returns those that are there; empty at the end, `nil` if none came in time.
  func read(before end: Moment) throws(SystemError) -> [UInt8]? {
    while Self.wait(for: socket, Int16(POLLIN), until: end) {
      if let bytes = try socket.read(atMost: 16_384) { return bytes }
    }
    return nil
  }

  private static func connect(to server: Endpoint, within patience: Duration) throws(Failure) -> FileDescriptor {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_ADDRCONFIG
    if server.address != nil { hints.ai_flags = AI_NUMERICHOST }
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(server.host.description, String(server.port), &hints, &list)
    guard code == 0, let list else { throw .noAddress(String(cString: gai_strerror(code))) }
    defer { freeaddrinfo(list) }
    let end = Moment.now + patience
    var reason = "there is no address"
    for info in sequence(first: list, next: { $0.pointee.ai_next }).prefix(addressLimit) {
      let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
      let number = Glibc.socket(info.pointee.ai_family, kind, 0)
      guard number >= 0 else { throw .local(.last("make a socket")) }
      let socket = FileDescriptor(owning: number)
      if Glibc.connect(number, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0 { return socket }
      guard errno == EINPROGRESS else {
        reason = SystemError.words(errno)
        continue
      }
      guard wait(for: socket, Int16(POLLOUT), until: end) else {
        reason = "there is no answer"
        continue
      }
      var (error, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
      getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &length)
      if error == 0 { return socket }
      reason = SystemError.words(error)
    }
    throw .noConnection(reason)
  }

  private static func wait(for socket: FileDescriptor, _ events: Int16, until end: Moment) -> Bool {
    while true {
      let left = end - .now
      guard left > .zero else { return false }
      var poller = pollfd(fd: socket.number, events: events, revents: 0)
      let result = poll(&poller, 1, Int32(clamping: left.milliseconds + 1))
      if result > 0 { return true }
      if result < 0, errno != EINTR { return false }
    }
  }
}
