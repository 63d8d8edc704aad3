internal import CWireGuardIO
internal import Glibc
internal import NetworkTypes
internal import WireGuardEngine

extension DatagramAddress.LocalAddress {
  /// Converts from the kernel's form.
  @inline(__always)
  init(_ address: borrowing cwg_local, link: UInt32, family: IPAddress.Family) {
    let (first, second) = withUnsafeBytes(of: address.bytes) {
      ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
    // IPv4 is in the lowest four bytes of `low`, as in `IPAddress`.
    self =
      family == .v4
      ? Self(high: 0, low: UInt64(UInt32(truncatingIfNeeded: UInt64(littleEndian: first)).byteSwapped), link: link)
      : Self(high: UInt64(bigEndian: first), low: UInt64(bigEndian: second), link: link)
  }

  /// Converts to the kernel's form.
  @inline(__always)
  func address(_ family: IPAddress.Family) -> cwg_local {
    var result = cwg_local()
    withUnsafeMutableBytes(of: &result.bytes) {
      if family == .v4 {
        $0.storeBytes(of: UInt32(truncatingIfNeeded: low).bigEndian, as: UInt32.self)
      } else {
        $0.storeBytes(of: high.bigEndian, as: UInt64.self)
        $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
      }
    }
    return result
  }
}

extension DatagramAddress {
  /// The source of a message, with the local address.
  @inline(__always)
  init?(_ message: borrowing cwg_incoming) {
    self.init(message.from)
    local = LocalAddress(message.to, link: message.link, family: address.family)
  }

  /// Converts from the kernel's form; `nil` for another family.
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

  /// Converts to the kernel's form.
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
