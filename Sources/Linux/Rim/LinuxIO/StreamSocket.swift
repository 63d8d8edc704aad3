internal import CLinux
internal import Glibc
package import NetworkTypes

/// TCP sockets: non-blocking, closed on exec. A peer that answers nothing for two minutes is gone.
package enum StreamSocket {
  /// A listening socket at an address of this machine. Its connections have its options.
  package static func listen(at address: IPAddress, port: UInt16) throws(SystemError) -> FileDescriptor {
    let file = try make(address.family)
    var on: Int32 = 1
    setsockopt(file.number, SOL_SOCKET, SO_REUSEADDR, &on, 4)
    let place = address.family == .v6 ? "[\(address)]:\(port)" : "\(address):\(port)"
    guard DatagramPort.withAddress(address, port, { Glibc.bind(file.number, $0, $1) }) == 0, Glibc.listen(file.number, 256) == 0 else {
      throw .last("listen at \(place)")
    }
    return file
  }

  /// A connection that is under way: writable when it is there, or has failed (`failure`).
  package static func connect(to address: IPAddress, port: UInt16) throws(SystemError) -> FileDescriptor {
    let file = try make(address.family)
    let bytes = address.bytes
    guard clinux_connect(file.number, bytes, Int32(bytes.count), port) == 0 || errno == EINPROGRESS else {
      throw .last("connect to \(address) port \(port)")
    }
    return file
  }

  /// The error that a connection has met, which is then forgotten; 0: none (SO_ERROR of socket(7)).
  package static func failure(of file: FileDescriptor) -> Int32 {
    var (code, length): (Int32, socklen_t) = (0, 4)
    return getsockopt(file.number, SOL_SOCKET, SO_ERROR, &code, &length) == 0 ? code : errno
  }

  /// The firewall mark that the kernel gives to a new socket of this process (SO_MARK of socket(7)), by its control group; 0: none.
  package static var markOfNew: UInt32 {
    let number = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { return 0 }
    defer { close(number) }
    var (mark, length): (UInt32, socklen_t) = (0, 4)
    return getsockopt(number, SOL_SOCKET, SO_MARK, &mark, &length) == 0 ? mark : 0
  }

  private static func make(_ family: IPAddress.Family) throws(SystemError) -> FileDescriptor {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let number = socket(family == .v4 ? AF_INET : AF_INET6, kind, 0)
    guard number >= 0 else { throw .last("make a TCP socket") }
    let file = FileDescriptor(owning: number)
    var on: Int32 = 1
    setsockopt(number, SOL_SOCKET, SO_KEEPALIVE, &on, 4)
    for (name, value) in [(TCP_NODELAY, 1), (TCP_KEEPIDLE, 60), (TCP_KEEPINTVL, 20), (TCP_KEEPCNT, 3)] {
      var value = Int32(value)
      setsockopt(number, Int32(IPPROTO_TCP), name, &value, 4)
    }
    if family == .v6 { setsockopt(number, Int32(IPPROTO_IPV6), Int32(IPV6_V6ONLY), &on, 4) }
    return file
  }
}
