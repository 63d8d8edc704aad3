import GatewayCore
import KernelModel
import NetworkTypes
import TestKit
import Testing

func name(_ text: String) throws -> GatewayName { try #require(GatewayName(text)) }
func path(_ text: String) throws -> DevicePath { try #require(DevicePath(text)) }
func key(_ number: UInt64) throws -> WireGuardKey {
  try #require(WireGuardKey(bytes: (0..<32).map { UInt8(truncatingIfNeeded: $0 < 8 ? number >> (8 * $0) : 7) }))
}

/// A weak digest of 32 bytes: chains depend on the function only by its values.
let digest: Digest = { bytes in
  (0..<4).flatMap { variant in
    var hash = FNV1a(variant: UInt64(variant))
    for byte in bytes { hash.add(byte) }
    return (0..<8).map { UInt8(truncatingIfNeeded: hash.value >> (8 * $0)) }
  }
}

extension Administration {
  var summary: ChangeSummary { ChangeSummary(self) }

  mutating func converge(
    to declared: Declaration, also others: [DeclaredSubject: DeclaredPlace] = [:], publicKey: WireGuardKey, link: InterfaceName?
  ) throws(DeclarationFault) {
    try Convergence.carryOut(declared, also: others, publicKey: publicKey, link: link, in: &self)
  }

  init(now: Timestamp = 1_000_000) { self.init(Directory(), lastID: 0, actor: "root", now: now) }

  /// The same directory later.
  func later(by seconds: Int64) -> Administration { Administration(directory, lastID: lastID, actor: "root", now: now + seconds) }

  mutating func addPool(_ text: String, isTranslated: Bool = false) throws {
    try addPool(try name(text.contains(":") ? "pool6" : "pool4"), try #require(IPPrefix(text)), isTranslated: isTranslated)
  }
}
