internal import CSodium
package import NetworkTypes

/// Random prefixes of RFC 4193: no two sites have the same one.
package enum UniqueLocal {
  /// A new /64 of fd00::/8.
  package static func prefix() -> IPPrefix? {
    var bytes = [UInt8](repeating: 0, count: 16)
    randombytes_buf(&bytes, 6)
    bytes[0] = 0xfd
    return IPAddress(bytes: bytes).flatMap { IPPrefix($0, length: 64) }
  }
}
