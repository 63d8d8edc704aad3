/// Responses that we make ourselves, and the adaptation of a server's answer to each client.
enum Responses {
  /// A response without records: the question as it was asked, the code, and an OPT record if the question had one.
  static func append(
    to bytes: inout [UInt8], id: UInt16, flags: UInt16, code: UInt16, question: Span<UInt8>, _ range: Range<Int>, edns: EDNS?,
    isTruncated: Bool = false, reason: ExtendedError? = nil, text: String = ""
  ) {
    let kept = flags & (HeaderFlags.recursionDesired | HeaderFlags.checkingDisabled)
    let head = HeaderFlags.response | HeaderFlags.recursionAvailable | kept | (isTruncated ? HeaderFlags.truncated : 0)
    bytes.append(word16: id)
    bytes.append(word16: head | code & HeaderFlags.code)
    bytes.append(word16: range.isEmpty ? 0 : 1)
    bytes.append(word32: 0)
    bytes.append(word16: edns == nil ? 0 : 1)
    bytes.append(question, range)
    guard let edns else { return }
    EDNS.append(to: &bytes, wantsSignatures: edns.wantsSignatures, code: code, reason: reason, text: text)
  }

  /// Appends a prepared answer for one client: its ID and its letter case. One that exceeds its limit, or came truncated, has no records.
  /// `age`: seconds to subtract from the times to live.
  static func append(
    _ answer: Span<UInt8>, to bytes: inout [UInt8], id: UInt16, flags: UInt16, question: Span<UInt8>, _ range: Range<Int>, edns: EDNS?,
    limit: Int, age: UInt32 = 0
  ) {
    guard answer.count <= limit, answer.word16(2) & HeaderFlags.truncated == 0 else {
      let code = answer.word16(2) & HeaderFlags.code
      return append(to: &bytes, id: id, flags: flags, code: code, question: question, range, edns: edns, isTruncated: true)
    }
    let start = bytes.count
    bytes.append(word16: id)
    bytes.append(answer, 2..<MessageFormat.header)
    bytes.append(question, range)
    let behind = MessageFormat.header + range.count
    bytes.append(answer, behind..<answer.count)
    guard age > 0, let outline = AnswerOutline(answer) else { return }
    outline.forEachRecord(of: answer) { record in
      guard record.type != RecordType.opt else { return }
      bytes.set(word32: record.ttl > age ? record.ttl - age : 0, at: start + record.ttlOffset)
    }
  }
}
