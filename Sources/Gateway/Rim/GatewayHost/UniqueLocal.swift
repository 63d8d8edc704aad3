internal import CSodium
package import GatewayCore
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

  /// Adds the pools of a gateway that names none: an IPv4 prefix that no other gateway of the store has, and a random one.
  package static func addUsualPools(to work: inout Administration, isTranslated: Bool = true) throws(GatewayError) {
    for prefix in [UsualPools(beside: work.directory).prefix, prefix()].compactMap({ $0 }) {
      if let name = UsualPools(beside: work.directory).name { try work.addPool(name, prefix, isTranslated: isTranslated) }
    }
  }
}
