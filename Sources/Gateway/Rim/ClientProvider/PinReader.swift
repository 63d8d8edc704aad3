internal import Glibc
internal import LinuxIO
internal import LoginProtocol
package import NetworkTypes
internal import ProcessConfinement

/// Reads the pin that a gateway's logins show, in a process of its own: it gives up its privileges before it looks up the name, and its
/// system calls before it reads the server's bytes. Nothing but TLS is sent.
package enum PinReader {
  /// Addresses that are tried.
  private static let addresses = 4
  /// All attempts to connect.
  private static let connectPatience = Duration.seconds(12)
  private static let handshakePatience = Duration.seconds(8)
  /// A handshake has a few thousand bytes.
  private static let byteLimit = 1 << 18

  /// Prints the reading as a line; returns the exit status.
  package static func run(_ server: Endpoint) -> Int32 {
    // Before the calls for it are given up.
    let output = FileDescriptor(owning: dup(STDOUT_FILENO))
    return (try? output.writeAll(Array((read(server).line + "\n").utf8))) == nil ? 1 : 0
  }

  private static func read(_ server: Endpoint) -> PinReading {
    // Any key is another one than this. OpenSSL gets here all that it needs of the machine.
    guard let tls = TLSClient(pin: "") else { return .failed("OpenSSL cannot make a connection") }
    do throws(SystemError) {
      try Confinement.giveUpPrivileges(becoming: "roamward-provider")
      try Confinement.endWithParent()
      try Confinement.limit(descriptors: 32, memory: 128 << 20)
      switch try connect(to: server) {
      case .failure(let failure): return failure.reading
      case .success(let socket):
        let result = try SystemCallFilter(PinFilter.rules(process: getpid())).load()
        guard result == 0 else { throw SystemError(code: result, operation: "confine system calls") }
        return handshake(tls, by: socket)
      }
    } catch {
      return .failed(error.description)
    }
  }

  // MARK: The connection

  private struct ConnectFailure: Error {
    let reading: PinReading
  }

  private static func connect(to server: Endpoint) throws(SystemError) -> Result<FileDescriptor, ConnectFailure> {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_ADDRCONFIG
    if server.address != nil { hints.ai_flags = AI_NUMERICHOST }
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(server.host.description, String(server.port), &hints, &list)
    guard code == 0, let list else { return .failure(.init(reading: .noAddress(String(cString: gai_strerror(code))))) }
    defer { freeaddrinfo(list) }
    let end = Moment.now + connectPatience
    var reason = "there is no address"
    for info in sequence(first: list, next: { $0.pointee.ai_next }).prefix(addresses) {
      let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
      let number = socket(info.pointee.ai_family, kind, 0)
      guard number >= 0 else { throw .last("make a socket") }
      let socket = FileDescriptor(owning: number)
      if Glibc.connect(number, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0 { return .success(socket) }
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
      if error == 0 { return .success(socket) }
      reason = SystemError.words(error)
    }
    return .failure(.init(reading: .noConnection(reason)))
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

  // MARK: The handshake

  private static func handshake(_ tls: TLSClient, by socket: FileDescriptor) -> PinReading {
    let end = Moment.now + handshakePatience
    var count = 0
    do throws(SystemError) {
      while true {
        let output = tls.takeOutput()
        if !output.isEmpty { try socket.writeAll(output) }
        guard wait(for: socket, Int16(POLLIN), until: end) else { return .noConnection("there is no answer by TLS") }
        guard let bytes = try socket.read(atMost: 16_384) else { continue }
        count += bytes.count
        guard !bytes.isEmpty, count <= byteLimit else { return .noTLS }
        do throws(TLSClient.Failure) { _ = try tls.receive(bytes) } catch {
          guard case .otherKey(let found) = error, let pin = GatewayPin(found) else { return .noTLS }
          return .pin(pin)
        }
      }
    } catch {
      return .noConnection(error.reason)
    }
  }
}
