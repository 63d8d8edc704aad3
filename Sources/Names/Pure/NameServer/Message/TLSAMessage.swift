package import NetworkTypes

/// A record that binds a key to a service (RFC 6698 section 2.1).
package struct TLSARecord: Hashable, Sendable {
  package let usage: UInt8
  package let selector: UInt8
  package let matchingType: UInt8
  /// The certificate association data.
  package let association: [UInt8]

  package init(usage: UInt8, selector: UInt8, matchingType: UInt8, association: [UInt8]) {
    self.usage = usage
    self.selector = selector
    self.matchingType = matchingType
    self.association = association
  }

  /// RDATA; `nil`: a field is missing.
  init?(_ message: Span<UInt8>, _ data: Range<Int>) {
    guard data.count > 3 else { return nil }
    let start = data.lowerBound
    var association: [UInt8] = []
    association.append(message, start + 3..<data.upperBound)
    self.init(usage: message[start], selector: message[start + 1], matchingType: message[start + 2], association: association)
  }
}

/// The question for the TLSA records of a name, and the answer to it, for a program that asks a name server itself.
package enum TLSAMessage {
  private static let internet: UInt16 = 1
  /// The records of an answer that are read. A name has a few.
  private static let recordLimit = 64
  /// The aliases that are followed.
  private static let aliasLimit = 8

  /// An answer, read in full.
  package struct Answer: Hashable, Sendable {
    /// One of `ResponseCode`.
    package let code: UInt16
    /// The name server says that it has validated all of the answer (AD, RFC 4035 section 3.2.3).
    package let isAuthenticated: Bool
    /// Those of the name, or of the name that its aliases lead to (CNAME).
    package let records: [TLSARecord]
  }

  /// The question. Its AD bit asks for that of the answer (RFC 6840 section 5.7).
  package static func question(_ name: DomainName, id: UInt16) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(word16: id)
    bytes.append(word16: HeaderFlags.recursionDesired | HeaderFlags.authenticData)
    bytes.append(word16: 1)
    bytes += [0, 0, 0, 0, 0, 0]
    for label in name.text.utf8.split(separator: UInt8(ascii: ".")) { bytes += [UInt8(truncatingIfNeeded: label.count)] + label }
    bytes.append(0)
    bytes.append(word16: RecordType.tlsa)
    bytes.append(word16: internet)
    return bytes
  }

  /// Reads any bytes; `nil`: they are no whole answer to this question of ours.
  package static func answer(_ bytes: [UInt8], to question: [UInt8]) -> Answer? {
    let (message, asked) = (bytes.span, question.span)
    guard let outline = AnswerOutline(message), !outline.isTruncated, outline.answers <= recordLimit,
      message.word16(0) == asked.word16(0), outline.range.upperBound == asked.count,
      message.isEqualIgnoringCase(outline.range, asked, from: MessageFormat.header),
      var name = folded(message, MessageFormat.header)
    else { return nil }
    var found: [(name: [UInt8], record: ResourceRecord)] = []
    var count = 0
    outline.forEachRecord(of: message) { record in
      count += 1
      guard count <= outline.answers, record.recordClass == internet, let owner = folded(message, record.start) else { return }
      found.append((owner, record))
    }
    for _ in 0..<aliasLimit {
      guard let alias = found.first(where: { $0.name == name && $0.record.type == RecordType.alias })?.record else { break }
      // The name fills its field, which ends with the name or with a pointer.
      guard NameCoding.end(of: message, at: alias.data.lowerBound) == alias.data.upperBound,
        let target = folded(message, alias.data.lowerBound)
      else { return nil }
      name = target
    }
    var records: [TLSARecord] = []
    for (owner, record) in found where owner == name && record.type == RecordType.tlsa {
      guard let record = TLSARecord(message, record.data) else { return nil }
      records.append(record)
    }
    return Answer(
      code: outline.code, isAuthenticated: message.word16(2) & HeaderFlags.authenticData != 0, records: records)
  }

  /// A name in lower case, so that equal names have equal bytes (RFC 4343). A length byte is less than any letter.
  private static func folded(_ message: Span<UInt8>, _ start: Int) -> [UInt8]? {
    NameCoding.expanded(in: message, at: start)?.map(lowerCase)
  }
}
