internal import CLinux
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import ProbeProtocol

/// The path of sockets, outside every tunnel.
struct Passage: Equatable, Sendable {
  /// The link that they are bound to; `nil`: any.
  var link: String?
  /// Their firewall mark; `nil`: none.
  var mark: UInt32?

  enum Refusal: Error {
    /// The kernel would not bind or mark it: a problem of this machine.
    case unusable(SystemError)
    /// There is no route to the destination.
    case unreachable(SystemError)
  }

  /// Creates a socket that is bound and marked, and then connected or connecting: close-on-exec and non-blocking.
  func socket(_ transport: SocketWish.Transport, to destination: Destination) throws(Refusal) -> FileDescriptor {
    let kind = transport == .udp ? SOCK_DGRAM : SOCK_STREAM
    let flags = SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let number = Glibc.socket(destination.address.family == .v6 ? AF_INET6 : AF_INET, Int32(kind.rawValue | flags), 0)
    guard number >= 0 else { throw .unreachable(.last("make a socket")) }
    let socket = FileDescriptor(owning: number)
    if let link, clinux_bind_to_device(number, link) != 0 { throw .unusable(.last("bind to \(link)")) }
    if let mark, clinux_set_mark(number, mark) != 0 { throw .unusable(.last("set the firewall mark")) }
    if transport == .tcp { _ = clinux_send_at_once(number) }
    let bytes = destination.address.bytes
    guard clinux_connect(number, bytes, Int32(bytes.count), destination.port) == 0 || errno == EINPROGRESS else {
      throw .unreachable(.last("connect to \(destination.address)"))
    }
    return socket
  }

  /// The address that this machine would use towards another one; `nil`: there is no route. Nothing is sent.
  func source(towards address: IPAddress) -> IPAddress? {
    guard let socket = try? socket(.udp, to: Destination(address, port: 9)) else { return nil }
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = clinux_local_address(socket.number, &bytes)
    return count < 0 ? nil : IPAddress(bytes: bytes.prefix(Int(count)))
  }
}
