internal import NetworkTypes

/// The addresses that an answer gives to programs: those of every A and AAAA record of its answer section. Programs differ in the owners
/// that they accept, and who answers can put any address into the chain of aliases, so none is left out. An IPv4 address inside an IPv6 one
/// counts as itself, as it does for the kernel.
enum AnswerAddressList {
  static func addresses(_ message: Span<UInt8>, _ outline: AnswerOutline) -> [IPAddress] {
    var found: [IPAddress] = []
    var offset = outline.range.upperBound
    for _ in 0..<outline.answers {
      guard let record = ResourceRecord(message, at: offset) else { break }
      offset = record.end
      if let address = address(in: message, record) { found.append(address.mapped ?? address) }
    }
    return found.uniqued()
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
