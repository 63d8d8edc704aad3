/// The places of a resource record's fields in a message (RFC 1035 section 4.1.3).
struct ResourceRecord: Equatable, Sendable {
  let start: Int
  let type: UInt16
  let recordClass: UInt16
  let ttl: UInt32
  /// The offset of the time to live.
  let ttlOffset: Int
  /// RDATA.
  let data: Range<Int>

  /// Reads the record at an offset; `nil`: it is not whole, or its name is invalid.
  init?(_ message: Span<UInt8>, at start: Int) {
    guard let name = NameCoding.end(of: message, at: start), name + 10 <= message.count, NameCoding.isValid(in: message, at: start) else {
      return nil
    }
    let length = Int(message.word16(name + 8))
    guard name + 10 + length <= message.count else { return nil }
    self.start = start
    type = message.word16(name)
    recordClass = message.word16(name + 2)
    ttl = message.word32(name + 4)
    ttlOffset = name + 4
    data = name + 10..<name + 10 + length
  }

  var end: Int { data.upperBound }
}
