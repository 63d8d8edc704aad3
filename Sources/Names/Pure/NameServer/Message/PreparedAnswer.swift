/// A server's answer as clients and the cache get it: times to live of at most `longestTTL` seconds; our payload size in its OPT record, or
/// a record of our own if the server left it out.
struct PreparedAnswer: Sendable {
  var bytes: [UInt8]
  /// The outline of `bytes`, so that they are not read again.
  private(set) var outline: AnswerOutline

  /// - Parameter outline: that of the message.
  init(_ message: Span<UInt8>, _ outline: AnswerOutline, edns: EDNS?, longestTTL: UInt32?) {
    self.outline = outline
    bytes = []
    bytes.reserveCapacity(outline.end + 16)
    bytes.append(message, 0..<outline.end)
    if let longestTTL {
      outline.forEachRecord(of: message) { record in
        if record.type != RecordType.opt, record.ttl > longestTTL { bytes.set(word32: longestTTL, at: record.ttlOffset) }
      }
      self.outline.leastTTL = min(outline.leastTTL, longestTTL)
    }
    if let opt = outline.opt {
      bytes.set(word16: MessageFormat.payload, at: opt + 3)
    } else if let edns, !outline.isTruncated, message.word16(10) < .max {
      self.outline.records += 1
      self.outline.opt = outline.end
      bytes.set(word16: message.word16(10) + 1, at: 10)
      EDNS.append(to: &bytes, wantsSignatures: edns.wantsSignatures)
      self.outline.end = bytes.count
    }
  }
}
