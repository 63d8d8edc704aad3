package import NetworkTypes

/// A digest of 32 bytes (SHA-256), which the caller supplies: the core links no library.
package typealias Digest = @Sendable ([UInt8]) -> [UInt8]

/// One entry of the audit log.
package struct AuditEntry: Hashable, Sendable {
  /// From 1, without gaps.
  package var sequence: Int64
  package var time: Timestamp
  package var record: Record
  /// The digest of this entry and the hash of the one before it.
  package var hash: [UInt8]

  package init(sequence: Int64, time: Timestamp, record: Record, hash: [UInt8]) {
    self.sequence = sequence
    self.time = time
    self.record = record
    self.hash = hash
  }

  /// The content of an entry: the actor, the action, its object and a detail.
  package struct Record: Hashable, Sendable {
    package var actor: String
    package var verb: String
    package var object: String
    package var detail: String

    package init(actor: String, verb: String, object: String, detail: String = "") {
      self.actor = actor
      self.verb = verb
      self.object = object
      self.detail = detail
    }

    /// The record without control characters, which are written as `\u{0}`.
    var escaped: Record {
      Record(
        actor: NetworkTypes.escaped(actor), verb: NetworkTypes.escaped(verb), object: NetworkTypes.escaped(object),
        detail: NetworkTypes.escaped(detail))
    }
  }
}

/// The chain of the audit log: each hash covers its entry and the hash before it. So a changed, removed or inserted entry breaks the chain
/// at its place. Removing the newest entries leaves a valid chain: compare its head with one that is kept elsewhere.
package struct AuditChain: Sendable {
  /// The number of entries, and the hash of the last one.
  package private(set) var length: Int64
  package private(set) var head: [UInt8]
  private let digest: Digest

  /// The hash before the first entry.
  package static let origin = [UInt8](repeating: 0, count: 32)

  package init(length: Int64 = 0, head: [UInt8] = origin, digest: @escaping Digest) {
    self.length = length
    self.head = head
    self.digest = digest
  }

  package mutating func append(_ record: AuditEntry.Record, at time: Timestamp) -> AuditEntry {
    // A store cannot hold every text, and the hash has to be of what it holds.
    let record = record.escaped
    var entry = AuditEntry(sequence: length + 1, time: time, record: record, hash: [])
    entry.hash = digest(entry.hashed(after: head))
    (length, head) = (entry.sequence, entry.hash)
    return entry
  }

  /// Whether the entry is the next one of this chain, which then includes it.
  package mutating func accept(_ entry: AuditEntry) -> Bool {
    guard entry.sequence == length + 1, entry.hash == digest(entry.hashed(after: head)) else { return false }
    (length, head) = (entry.sequence, entry.hash)
    return true
  }
}

extension AuditEntry {
  /// The hashed bytes: the previous hash, the sequence and the time in seconds as 8 bytes each, then every text behind its length
  /// of 4 bytes; all numbers in network order.
  func hashed(after previous: [UInt8]) -> [UInt8] {
    func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
      (0..<number.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    return [record.actor, record.verb, record.object, record.detail].reduce(previous + bytes(sequence) + bytes(time.seconds)) { all, text in
      all + bytes(UInt32(text.utf8.count)) + text.utf8
    }
  }
}
