internal import CWireGuardIO
internal import Glibc
internal import NetworkTypes
internal import WireGuardEngine

extension DatagramAddress {
  /// As the kernel tells it; `nil` for another family.
  @inline(__always)
  init?(_ address: borrowing cwg_address) {
    switch Int32(address.generic.sa_family) {
    case AF_INET:
      self.init(IPAddress(v4: UInt32(bigEndian: address.v4.sin_addr.s_addr)), port: UInt16(bigEndian: address.v4.sin_port))
    case AF_INET6:
      let (high, low) = withUnsafeBytes(of: address.v6.sin6_addr) {
        (UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)), UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
      }
      let address6 = IPAddress(family: .v6, high: high, low: low)
      self.init(
        address6, port: UInt16(bigEndian: address.v6.sin6_port), scope: address6.isLinkLocal ? address.v6.sin6_scope_id : 0)
    default: return nil
    }
  }

  /// As the kernel wants it.
  @inline(__always)
  var socketAddress: cwg_address {
    var result = cwg_address()
    if address.family == .v4 {
      result.v4.sin_family = sa_family_t(AF_INET)
      result.v4.sin_port = port.bigEndian
      result.v4.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.low).bigEndian
    } else {
      result.v6.sin6_family = sa_family_t(AF_INET6)
      result.v6.sin6_port = port.bigEndian
      result.v6.sin6_scope_id = scope
      withUnsafeMutableBytes(of: &result.v6.sin6_addr) {
        $0.storeBytes(of: address.high.bigEndian, as: UInt64.self)
        $0.storeBytes(of: address.low.bigEndian, toByteOffset: 8, as: UInt64.self)
      }
    }
    return result
  }
}
