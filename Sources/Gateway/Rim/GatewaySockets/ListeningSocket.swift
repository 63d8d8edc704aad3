internal import Glibc
package import LinuxIO
package import NetworkTypes

/// A listening TCP socket; for IPv4 alone where the kernel has no IPv6.
package enum ListeningSocket {
  /// `at`: without an address, the socket has every address of the machine, of both families. The address may come later (IP_FREEBIND).
  /// `link`: packets that come in by another link do not reach it (SO_BINDTODEVICE of socket(7), without a capability since Linux 5.7).
  package static func make(port: UInt16, at place: IPAddress? = nil, link: String? = nil) throws(SystemError) -> FileDescriptor {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    var number = socket(AF_INET6, kind, 0)
    let isFour = number < 0 && errno == EAFNOSUPPORT && place?.family != .v6
    if isFour { number = socket(AF_INET, kind, 0) }
    guard number >= 0 else { throw .last("make a TCP socket") }
    let file = FileDescriptor(owning: number)
    var (on, off): (Int32, Int32) = (1, 0)
    setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, 4)
    // Connections have these from here. Datagrams of a relay are sent at once; what the kernel queues is short, or they would wait long
    // behind others; and who acknowledges nothing for 30 s is gone.
    var (queue, silence): (Int32, UInt32) = (64 << 10, 30_000)
    setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
    setsockopt(number, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &queue, 4)
    setsockopt(number, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &silence, 4)
    if isFour {
      setsockopt(number, Int32(IPPROTO_IP), IP_FREEBIND, &on, 4)
    } else {
      setsockopt(number, Int32(IPPROTO_IPV6), Int32(IPV6_V6ONLY), &off, 4)
      setsockopt(number, Int32(IPPROTO_IPV6), IPV6_FREEBIND, &on, 4)
    }
    if let link {
      guard setsockopt(number, SOL_SOCKET, SO_BINDTODEVICE, link, socklen_t(link.utf8.count)) == 0 else {
        throw .last("bind a socket to \(link)")
      }
    }
    guard (isFour ? bindFour(number, port, place) : bindSix(number, port, place)) == 0 else {
      throw .last("bind to TCP port \(port)\(place.map { " of \($0)" } ?? "")")
    }
    // A flood of connections is accepted, and judged by whose it is: the kernel would refuse newcomers of all.
    guard listen(number, 1024) == 0 else { throw .last("listen at TCP port \(port)") }
    return file
  }

  private static func bindSix(_ number: Int32, _ port: UInt16, _ place: IPAddress?) -> Int32 {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    if let place {
      let mapped: [UInt8] = place.family == .v4 ? [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] : []
      withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: mapped + place.bytes) }
    }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(number, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) }
    }
  }

  private static func bindFour(_ number: Int32, _ port: UInt16, _ place: IPAddress?) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    if let place { withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: place.bytes) } }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }
}
