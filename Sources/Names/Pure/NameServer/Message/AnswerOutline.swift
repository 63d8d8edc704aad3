/// A response as places in its message, read once and checked in full.
struct AnswerOutline {
  /// The lower four bits of the header and the upper eight of an OPT record.
  let code: UInt16
  let isTruncated: Bool
  let answers: Int
  var records: Int
  /// The least time to live of all records, in seconds; 0 without a record.
  var leastTTL: UInt32
  /// The offset of the OPT record.
  var opt: Int?
  /// The offset behind QNAME.
  let nameEnd: Int
  /// The end of the last record; bytes behind it are no part of the message.
  var end: Int

  /// Reads any bytes; `nil`: they are no response to one question, or a record is invalid.
  init?(_ message: Span<UInt8>) {
    guard message.count >= MessageFormat.header else { return nil }
    let head = message.word16(2)
    guard head & HeaderFlags.response != 0, head & HeaderFlags.opcode == 0, message.word16(4) == 1,
      let nameEnd = NameCoding.plainEnd(of: message, at: MessageFormat.header), nameEnd + 4 <= message.count
    else { return nil }
    answers = Int(message.word16(6))
    isTruncated = head & HeaderFlags.truncated != 0
    let announced = answers + Int(message.word16(8)) + Int(message.word16(10))
    var code = head & HeaderFlags.code
    var opt: Int?
    var least: UInt32?
    var offset = nameEnd + 4
    for i in 0..<announced {
      // A truncated message may end anywhere: nothing of its records is used.
      guard let record = ResourceRecord(message, at: offset) else {
        if isTruncated { break }
        return nil
      }
      offset = record.end
      if record.type == RecordType.opt {
        // One, at the root, in the last section (RFC 6891 section 6.1.1).
        guard opt == nil, message[record.start] == 0, i >= announced - Int(message.word16(10)) else { return nil }
        code |= UInt16(truncatingIfNeeded: record.ttl >> 24) << 4
        opt = record.start
      } else {
        // The uppermost bit means 0 (RFC 2181 section 8).
        least = min(least ?? .max, record.ttl > 0x7fff_ffff ? 0 : record.ttl)
      }
    }
    self.code = code
    self.opt = opt
    self.nameEnd = nameEnd
    records = announced
    leastTTL = least ?? 0
    end = offset
  }

  /// QNAME, QTYPE and QCLASS.
  var range: Range<Int> { MessageFormat.header..<nameEnd + 4 }

  /// Passes the records of the message that this is the outline of.
  func forEachRecord(of message: Span<UInt8>, _ body: (ResourceRecord) -> Void) {
    var offset = range.upperBound
    for _ in 0..<records {
      guard let record = ResourceRecord(message, at: offset) else { return }
      offset = record.end
      body(record)
    }
  }
}
