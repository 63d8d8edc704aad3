internal import Glibc
package import NetworkTypes

extension FileDescriptor {
  /// The address of the other end of a connection (getpeername(2)); an IPv4 address of a socket of IPv6 as such. `nil`: there is none.
  package var remoteAddress: IPAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        guard getpeername(number, generic, &length) == 0 else { return nil }
        if Int32(generic.pointee.sa_family) == AF_INET {
          return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { v4 in
            withUnsafeBytes(of: v4.pointee.sin_addr) { IPAddress(bytes: Array($0)) }
          }
        }
        guard Int32(generic.pointee.sa_family) == AF_INET6 else { return nil }
        return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { v6 in
          let bytes = withUnsafeBytes(of: v6.pointee.sin6_addr) { Array($0) }
          let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
          return isMapped ? IPAddress(bytes: bytes.suffix(4)) : IPAddress(bytes: bytes)
        }
      }
    }
  }
}
