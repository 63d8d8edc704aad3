internal import NetworkTypes

/// The addresses that an answer gives for the asked name: those of the A and AAAA records of the name itself, or of the name that its
/// aliases lead to (RFC 1034 section 3.6.2). Other records of the answer do not count, whatever addresses they have.
enum AnswerChain {
  private static let internet: UInt16 = 1
  /// Aliases that are followed.
  private static let longest = 16

  static func addresses(_ message: Span<UInt8>, _ outline: AnswerOutline) -> [IPAddress] {
    var records: [(owner: [UInt8], record: ResourceRecord)] = []
    var offset = outline.range.upperBound
    for _ in 0..<outline.answers {
      guard let record = ResourceRecord(message, at: offset) else { return [] }
      offset = record.end
      guard record.recordClass == internet, [RecordType.a, RecordType.aaaa, RecordType.alias].contains(record.type),
        let owner = name(in: message, at: record.start)
      else { continue }
      records.append((owner, record))
    }
    guard var current = name(in: message, at: MessageFormat.header) else { return [] }
    for _ in 0..<longest {
      let own = records.filter { $0.owner == current }
      let found = own.compactMap { address(in: message, $0.record) }
      guard found.isEmpty, let alias = own.first(where: { $0.record.type == RecordType.alias }),
        let next = name(in: message, at: alias.record.data.lowerBound)
      else { return found }
      current = next
    }
    return []
  }

  private static func name(in message: Span<UInt8>, at start: Int) -> [UInt8]? {
    NameCoding.expanded(in: message, at: start)?.map(lowerCase)
  }

  private static func address(in message: Span<UInt8>, _ record: ResourceRecord) -> IPAddress? {
    let start = record.data.lowerBound
    switch (record.type, record.data.count) {
    case (RecordType.a, 4): return IPAddress(v4: message.word32(start))
    case (RecordType.aaaa, 16):
      let high = UInt64(message.word32(start)) << 32 | UInt64(message.word32(start + 4))
      return IPAddress(family: .v6, high: high, low: UInt64(message.word32(start + 8)) << 32 | UInt64(message.word32(start + 12)))
    default: return nil
    }
  }
}
