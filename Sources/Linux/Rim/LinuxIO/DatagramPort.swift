internal import CLinux
internal import Glibc
package import NetworkTypes

/// A UDP socket at a port: non-blocking, closed on exec.
package struct DatagramPort {
  package let file: FileDescriptor

  /// At an address of this machine; `nil`: at all of them. `link`: what is sent leaves by this link, and only what comes by it is received.
  package init(_ address: IPAddress?, _ family: IPAddress.Family, port: UInt16, link: String? = nil) throws(SystemError) {
    let type = Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let number = socket(family == .v4 ? AF_INET : AF_INET6, type, 0)
    guard number >= 0 else { throw .last("make a UDP socket") }
    file = FileDescriptor(owning: number)
    if let link { guard clinux_bind_to_device(number, link) == 0 else { throw .last("bind a socket to \(link)") } }
    if family == .v6 {
      var on: Int32 = 1
      setsockopt(number, Int32(IPPROTO_IPV6), Int32(IPV6_V6ONLY), &on, 4)
    }
    let any = IPAddress(family: family, high: 0, low: 0)
    let result = Self.withAddress(address ?? any, port) { Glibc.bind(number, $0, $1) }
    guard result == 0 else { throw .last("bind to UDP port \(port)") }
  }

  /// Sends a datagram without waiting. Returns whether the kernel took it.
  @discardableResult
  package func send(_ bytes: [UInt8], to address: IPAddress, port: UInt16) -> Bool {
    Self.withAddress(address, port) { sendto(file.number, bytes, bytes.count, Int32(MSG_DONTWAIT), $0, $1) } == bytes.count
  }

  /// The next datagram with its sender's address and port, without waiting; a longer one is cut off. `nil`: there is none now.
  package func receive(atMost limit: Int) -> (bytes: [UInt8], from: IPAddress, port: UInt16)? {
    var (storage, length) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
    var bytes = [UInt8](repeating: 0, count: limit)
    let from = withUnsafeMutablePointer(to: &storage) { pointer -> (count: Int, address: IPAddress?, port: UInt16) in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        let count = recvfrom(file.number, &bytes, limit, Int32(MSG_DONTWAIT), generic, &length)
        guard count >= 0 else { return (count, nil, 0) }
        if Int32(generic.pointee.sa_family) == AF_INET {
          return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { v4 in
            (count, withUnsafeBytes(of: v4.pointee.sin_addr) { IPAddress(bytes: Array($0)) }, UInt16(bigEndian: v4.pointee.sin_port))
          }
        }
        return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { v6 in
          (count, withUnsafeBytes(of: v6.pointee.sin6_addr) { IPAddress(bytes: Array($0)) }, UInt16(bigEndian: v6.pointee.sin6_port))
        }
      }
    }
    guard let address = from.address else { return nil }
    return (Array(bytes.prefix(from.count)), address, from.port)
  }

  /// The port that it has, which the kernel chooses for port 0.
  package var localPort: UInt16? {
    var (storage, length) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
    return withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        guard getsockname(file.number, generic, &length) == 0 else { return nil }
        // Both families have the port at the same place.
        return generic.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
      }
    }
  }

  static func withAddress<R>(_ address: IPAddress, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    func call<T>(_ value: T) -> R {
      withUnsafePointer(to: value) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<T>.size)) }
      }
    }
    switch address.family {
    case .v4:
      var value = sockaddr_in()
      value.sin_family = sa_family_t(AF_INET)
      value.sin_port = port.bigEndian
      withUnsafeMutableBytes(of: &value.sin_addr) { $0.copyBytes(from: address.bytes) }
      return call(value)
    case .v6:
      var value = sockaddr_in6()
      value.sin6_family = sa_family_t(AF_INET6)
      value.sin6_port = port.bigEndian
      withUnsafeMutableBytes(of: &value.sin6_addr) { $0.copyBytes(from: address.bytes) }
      return call(value)
    }
  }
}
