internal import CSodium
package import GatewayCore
package import NetworkTypes

// The audit log.
extension GatewayStore {
  /// SHA-256 (FIPS 180-4).
  package static let digest: Digest = { bytes in
    var hash = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_bytes()))
    crypto_hash_sha256(&hash, bytes, UInt64(bytes.count))
    return hash
  }

  func chain() throws(StoreError) -> AuditChain {
    guard let last = try entries("ORDER BY sequence DESC LIMIT 1", []).first else { return AuditChain(digest: Self.digest) }
    return AuditChain(length: last.sequence, head: last.hash, digest: Self.digest)
  }

  /// Adds entries alone. It reads nothing but the last one.
  package func record(_ records: [AuditEntry.Record], at now: Timestamp) throws(StoreError) {
    try writing { () throws(StoreError) in
      var chain = try chain()
      for record in records { try append(chain.append(record, at: now)) }
    }
  }

  func append(_ entry: AuditEntry) throws(StoreError) {
    try engine.run(
      "INSERT INTO audit (sequence, time, actor, verb, object, detail, hash) VALUES ($1, $2, $3, $4, $5, $6, $7)",
      [
        .integer(entry.sequence), SQLValue(entry.time), .text(entry.record.actor), .text(entry.record.verb), .text(entry.record.object),
        .text(entry.record.detail), .bytes(entry.hash),
      ])
  }

  /// The newest entries, oldest first.
  package func newestEntries(_ count: Int) throws(StoreError) -> [AuditEntry] {
    try entries("ORDER BY sequence DESC LIMIT $1", [.integer(Int64(count))]).reversed()
  }

  /// The newest entry of a request about an object; `nil`: there is none.
  package func newestEntry(of verb: String, _ object: String) throws(StoreError) -> AuditEntry? {
    try entries("WHERE verb = $1 AND object = $2 ORDER BY sequence DESC LIMIT 1", [.text(verb), .text(object)]).first
  }

  /// Up to 1000 entries after one of them, in their order.
  package func entries(after sequence: Int64) throws(StoreError) -> [AuditEntry] {
    try entries("WHERE sequence > $1 ORDER BY sequence LIMIT 1000", [.integer(sequence)])
  }

  /// The result of following the chain from its beginning.
  package struct Verification: Hashable, Sendable {
    /// The entries that are as they were written, from the first one.
    package var intact: Int64
    /// The first entry that is not; `nil`: all are.
    package var broken: Int64?
    /// The hash of the last intact entry.
    package var head: [UInt8]
  }

  package func verifyAudit() throws(StoreError) -> Verification {
    var chain = AuditChain(digest: Self.digest)
    while true {
      let part = try entries(after: chain.length)
      for entry in part {
        guard chain.accept(entry) else {
          return Verification(intact: chain.length, broken: entry.sequence, head: chain.head)
        }
      }
      if part.isEmpty { return Verification(intact: chain.length, broken: nil, head: chain.head) }
    }
  }

  private func entries(_ suffix: String, _ values: [SQLValue]) throws(StoreError) -> [AuditEntry] {
    var entries: [AuditEntry] = []
    for row in try engine.run("SELECT sequence, time, actor, verb, object, detail, hash FROM audit \(suffix)", values) {
      guard case .integer(let sequence) = row[0], case .integer(let time) = row[1], case .text(let actor) = row[2],
        case .text(let verb) = row[3], case .text(let object) = row[4], case .text(let detail) = row[5], case .bytes(let hash) = row[6]
      else { throw StoreError("table audit: unexpected values", help: "restore the store from a copy") }
      let record = AuditEntry.Record(actor: actor, verb: verb, object: object, detail: detail)
      entries.append(AuditEntry(sequence: sequence, time: Timestamp(seconds: time), record: record, hash: hash))
    }
    return entries
  }
}
