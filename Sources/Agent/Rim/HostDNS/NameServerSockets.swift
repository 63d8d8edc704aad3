internal import CLinux
internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import NetworkTypes

/// The port of a socket for questions to name servers.
enum QuestionPort {
  /// Few services listen there.
  private static let all = 10_000...65_535 as ClosedRange<UInt16>
  /// Ports that others on this host may want later: captured questions, and WireGuard by custom. A socket of a pool at one of them would be
  /// in their way until the next network.
  static let avoided = [NameCapture.port, 51_820] + ProgramNames.ports

  static func random(using generator: inout some RandomNumberGenerator) -> UInt16 {
    while true {
      let port = UInt16.random(in: all, using: &generator)
      if !avoided.contains(port) { return port }
    }
  }
}

/// The sockets that only the agent may make for its name server.
enum NameServerSockets {
  /// A socket for questions to name servers, at a random port. Which port it is has to be hard to guess (RFC 5452, section 9.2).
  static func question(_ family: IPAddress.Family, _ pool: QuestionPool) throws(SystemError) -> FileDescriptor {
    var failure = SystemError(code: EADDRINUSE, operation: "bind a socket to a random port")
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20 {
      do throws(SystemError) {
        let any = family == .v4 ? IPAddress(v4: 0) : IPAddress(family: .v6, high: 0, low: 0)
        let socket = try bound(SOCK_DGRAM, any, port: QuestionPort.random(using: &generator))
        try mark(socket, for: pool)
        return socket
      } catch {
        failure = error
        if error.code != EADDRINUSE { break }
      }
    }
    throw failure
  }

  /// A socket at which programs ask: UDP, or TCP that listens. The link that brings the address may not exist yet. `link`: only what comes
  /// by this link.
  static func listener(_ address: IPAddress, port: UInt16, isStream: Bool, link: String? = nil) throws(SystemError) -> FileDescriptor {
    let socket = try bound(isStream ? SOCK_STREAM : SOCK_DGRAM, address, port: port, isShared: isStream, isForeign: true, link: link)
    if isStream { guard listen(socket.number, 64) == 0 else { throw .last("listen at \(address), port \(port)") } }
    return socket
  }

  /// A TCP socket that is connected or connecting to a name server.
  static func connection(to address: IPAddress, port: UInt16, _ pool: QuestionPool) throws(SystemError) -> FileDescriptor {
    let socket = try make(SOCK_STREAM, address.family)
    try mark(socket, for: pool)
    let result = withAddress(address, port) { connect(socket.number, $0, $1) }
    guard result == 0 || errno == EINPROGRESS else { throw .last("connect to \(address)") }
    return socket
  }

  private static func bound(
    _ kind: __socket_type, _ address: IPAddress, port: UInt16, isShared: Bool = false, isForeign: Bool = false,
    link: String? = nil
  ) throws(SystemError) -> FileDescriptor {
    let socket = try make(kind, address.family)
    var one: Int32 = 1
    // A restarted server need not wait for connections of the former one.
    if isShared { setsockopt(socket.number, SOL_SOCKET, SO_REUSEADDR, &one, 4) }
    if isForeign {
      _ =
        address.family == .v4
        ? setsockopt(socket.number, Int32(IPPROTO_IP), IP_FREEBIND, &one, 4)
        : setsockopt(socket.number, Int32(IPPROTO_IPV6), IPV6_FREEBIND, &one, 4)
    }
    if let link, setsockopt(socket.number, SOL_SOCKET, SO_BINDTODEVICE, link, socklen_t(link.utf8.count)) != 0 {
      throw .last("bind a socket to \(link)")
    }
    if address.family == .v6 { setsockopt(socket.number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &one, 4) }
    guard withAddress(address, port, { bind(socket.number, $0, $1) }) == 0 else { throw .last("bind to \(address), port \(port)") }
    return socket
  }

  private static func mark(_ socket: FileDescriptor, for pool: QuestionPool) throws(SystemError) {
    guard clinux_set_mark(socket.number, pool.mark) == 0 else { throw .last("mark a socket") }
  }

  private static func make(_ kind: __socket_type, _ family: IPAddress.Family) throws(SystemError) -> FileDescriptor {
    let flags = SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let number = socket(family == .v6 ? AF_INET6 : AF_INET, Int32(kind.rawValue | flags), 0)
    guard number >= 0 else { throw .last("make a socket") }
    return FileDescriptor(owning: number)
  }

  private static func withAddress(_ address: IPAddress, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    func call<Address>(_ address: inout Address) -> Int32 {
      let length = socklen_t(MemoryLayout<Address>.size)
      return withUnsafeBytes(of: &address) { bytes in
        bytes.baseAddress.map { body($0.assumingMemoryBound(to: sockaddr.self), length) } ?? -1
      }
    }
    if address.family == .v4 {
      var v4 = sockaddr_in()
      v4.sin_family = sa_family_t(AF_INET)
      v4.sin_port = port.bigEndian
      v4.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.low).bigEndian
      return call(&v4)
    }
    var v6 = sockaddr_in6()
    v6.sin6_family = sa_family_t(AF_INET6)
    v6.sin6_port = port.bigEndian
    withUnsafeMutableBytes(of: &v6.sin6_addr) { $0.copyBytes(from: address.bytes) }
    return call(&v6)
  }
}
