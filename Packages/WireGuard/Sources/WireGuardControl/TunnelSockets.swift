internal import CWireGuardIO
internal import Glibc
package import LinuxIO

/// The two UDP sockets of an interface, IPv4 and IPv6, on one port. A family that the machine does not have is missing.
///
/// Creating them with a mark needs CAP_NET_ADMIN, so the agent creates them and passes them on.
package struct TunnelSockets {
  package let v4: FileDescriptor?
  package let v6: FileDescriptor?
  package let port: UInt16

  /// The limit of data that waits for the receiving thread (the kernel doubles the value for its own bookkeeping). It holds the windows of
  /// 32 streams under BBR, which would send again what a shorter one drops. The wait is bounded by the receiving thread, by time
  /// (`ControlledDelay`, `LongestWait`).
  private static let receiveBuffer: Int32 = 32 << 20
  /// Beyond this the tunnel stops reading packets. They then wait in the device, where their senders notice.
  private static let sendBuffer: Int32 = 512 << 10

  package init(v4: FileDescriptor?, v6: FileDescriptor?) {
    self.v4 = v4
    self.v6 = v6
    port = (v4 ?? v6).map { cwg_udp_port($0.number) } ?? 0
  }

  /// Binds both sockets to the port. Port 0: the kernel chooses one that is free in both families.
  package static func make(port: UInt16, mark: UInt32) throws(SystemError) -> TunnelSockets {
    var failure = SystemError(code: EADDRINUSE, operation: "bind")
    for _ in 0..<(port == 0 ? 10 : 1) {
      do throws(SystemError) {
        let v4 = try open(AF_INET, port: port, mark: mark)
        let chosen = v4.map { cwg_udp_port($0.number) } ?? port
        let v6 = try open(AF_INET6, port: chosen, mark: mark)
        guard v4 != nil || v6 != nil else { throw SystemError(code: EAFNOSUPPORT, operation: "make UDP sockets") }
        return TunnelSockets(v4: v4, v6: v6)
      } catch {
        failure = error
        if error.code != EADDRINUSE { break }
      }
    }
    throw failure
  }

  private static func open(_ family: Int32, port: UInt16, mark: UInt32) throws(SystemError) -> FileDescriptor? {
    let number = cwg_udp_open(family, port)
    guard number >= 0 else {
      if errno == EAFNOSUPPORT { return nil }
      // IPv6 exists, but is disabled.
      if family == AF_INET6, errno == EADDRNOTAVAIL { return nil }
      throw .last("bind to UDP port \(port)")
    }
    let socket = FileDescriptor(owning: number)
    cwg_set_buffers(number, receiveBuffer, sendBuffer)
    guard mark == 0 || cwg_set_mark(number, mark) == 0 else { throw .last("mark the socket") }
    return socket
  }
}
