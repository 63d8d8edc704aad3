/// A client's question as places in its message, without a copy.
struct QuestionOutline {
  let id: UInt16
  /// RD, AD and CD.
  let flags: UInt16
  /// The offset behind QNAME, which begins at 12 and has no pointers.
  let nameEnd: Int
  let type: UInt16
  let questionClass: UInt16
  let edns: EDNS?

  /// The response that a message gets which is no question for us.
  enum Fault: Error {
    /// It gets none: it is too short, or a response.
    case silent
    case code(UInt16)
  }

  /// QNAME, QTYPE and QCLASS.
  var range: Range<Int> { MessageFormat.header..<nameEnd + 4 }

  /// Reads any bytes: a query of exactly one question, with nothing behind it but an OPT record and records that are not evaluated (TSIG).
  init(_ message: Span<UInt8>) throws(Fault) {
    guard message.count >= MessageFormat.header else { throw .silent }
    let head = message.word16(2)
    guard head & HeaderFlags.response == 0 else { throw .silent }
    guard head & HeaderFlags.opcode == 0 else { throw .code(ResponseCode.notImplemented) }
    guard message.word16(4) == 1, message.word16(6) == 0, message.word16(8) == 0,
      let nameEnd = NameCoding.plainEnd(of: message, at: MessageFormat.header), nameEnd + 4 <= message.count
    else { throw .code(ResponseCode.formatError) }
    id = message.word16(0)
    flags = head & HeaderFlags.ofQuestion
    self.nameEnd = nameEnd
    type = message.word16(nameEnd)
    questionClass = message.word16(nameEnd + 2)
    var edns: EDNS?
    var offset = nameEnd + 4
    for _ in 0..<message.word16(10) {
      guard let record = ResourceRecord(message, at: offset) else { throw .code(ResponseCode.formatError) }
      offset = record.end
      guard record.type == RecordType.opt else { continue }
      // One, at the root (RFC 6891 section 6.1.1).
      guard edns == nil, message[record.start] == 0 else { throw .code(ResponseCode.formatError) }
      edns = EDNS(record)
    }
    self.edns = edns
  }
}

extension QuestionOutline {
  /// The code of the response if the question is understood and not supported; `nil`: it is.
  var unsupported: UInt16? {
    if let edns, edns.version > 0 { return ResponseCode.badVersion }
    // Transfers of zones are for those who serve them.
    return type == RecordType.transfer || type == RecordType.incrementalTransfer ? ResponseCode.notImplemented : nil
  }
}
