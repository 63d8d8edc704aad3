internal import CWireGuardIO
internal import Glibc
package import LinuxIO

/// The UDP sockets of an interface on one port: an IPv4 and an IPv6 socket for each pair of threads. A family that the machine does not
/// have is missing.
///
/// Creating them with a mark needs CAP_NET_ADMIN, so the agent creates them and passes them on.
package struct TunnelSockets {
  package struct Pair {
    package let v4: FileDescriptor?
    package let v6: FileDescriptor?
  }

  /// The kernel steers a session to one of them, by its shard. None: the interface has no sockets.
  package let pairs: [Pair]
  package let port: UInt16

  /// The limit of data that waits for the receiving thread (the kernel doubles the value for its own bookkeeping). It holds the windows of
  /// 32 streams under BBR, which would send again what a shorter one drops. The wait is bounded by the receiving thread, by time
  /// (`ControlledDelay`, `LongestWait`).
  private static let receiveBuffer: Int32 = 32 << 20
  /// Beyond this the tunnel stops reading packets. They then wait in the device, where their senders notice.
  private static let sendBuffer: Int32 = 512 << 10

  package init(_ pairs: [Pair]) {
    self.pairs = pairs
    port = pairs.first.flatMap { $0.v4 ?? $0.v6 }.map { cwg_udp_port($0.number) } ?? 0
  }

  /// Binds all sockets to the port. Port 0: the kernel chooses one that is free in both families.
  package static func make(port: UInt16, mark: UInt32, pairs count: Int = 1) throws(SystemError) -> TunnelSockets {
    var failure = SystemError(code: EADDRINUSE, operation: "bind")
    for _ in 0..<(port == 0 ? 10 : 1) {
      do throws(SystemError) {
        let v4 = try open(AF_INET, port: port, mark: mark)
        let chosen = v4.map { cwg_udp_port($0.number) } ?? port
        let v6 = try open(AF_INET6, port: chosen, mark: mark)
        guard v4 != nil || v6 != nil else { throw SystemError(code: EAFNOSUPPORT, operation: "make UDP sockets") }
        return TunnelSockets(try share(Pair(v4: v4, v6: v6), among: count, mark: mark))
      } catch {
        failure = error
        if error.code != EADDRINUSE { break }
      }
    }
    throw failure
  }

  /// Opens further sockets on the port of the first ones, and has the kernel steer datagrams to them.
  private static func share(_ first: Pair, among count: Int, mark: UInt32) throws(SystemError) -> [Pair] {
    var pairs = [first]
    while pairs.count < count {
      pairs.append(Pair(v4: try open(AF_INET, beside: first.v4, mark: mark), v6: try open(AF_INET6, beside: first.v6, mark: mark)))
    }
    guard count > 1 else { return pairs }
    // As many as the engine's shards.
    var shards: UInt32 = 1
    while shards < count { shards *= 2 }
    for case let socket? in [first.v4, first.v6] {
      guard cwg_udp_steer(socket.number, shards, UInt32(count)) == 0 else { throw .last("steer datagrams") }
    }
    return pairs
  }

  private static func open(_ family: Int32, beside first: FileDescriptor?, mark: UInt32) throws(SystemError) -> FileDescriptor? {
    guard let first else { return nil }
    let number = cwg_udp_open_beside(first.number, family)
    guard number >= 0 else { throw .last("bind another socket to the UDP port") }
    return try prepare(FileDescriptor(owning: number), mark: mark)
  }

  private static func open(_ family: Int32, port: UInt16, mark: UInt32) throws(SystemError) -> FileDescriptor? {
    let number = cwg_udp_open(family, port)
    guard number >= 0 else {
      if errno == EAFNOSUPPORT { return nil }
      // IPv6 exists, but is disabled.
      if family == AF_INET6, errno == EADDRNOTAVAIL { return nil }
      throw .last("bind to UDP port \(port)")
    }
    return try prepare(FileDescriptor(owning: number), mark: mark)
  }

  private static func prepare(_ socket: FileDescriptor, mark: UInt32) throws(SystemError) -> FileDescriptor {
    cwg_set_buffers(socket.number, receiveBuffer, sendBuffer)
    guard mark == 0 || cwg_set_mark(socket.number, mark) == 0 else { throw .last("mark the socket") }
    return socket
  }
}
