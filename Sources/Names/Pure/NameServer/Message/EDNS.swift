/// The extension of a question or an answer by an OPT record (RFC 6891 section 6.1).
struct EDNS: Hashable, Sendable {
  /// The longest answer over UDP that the sender takes, in bytes.
  var payload: UInt16
  var version: UInt8
  /// The DNSSEC OK bit (RFC 3225).
  var wantsSignatures: Bool

  private static let signaturesBit: UInt32 = 0x8000

  /// The record's fields: the class has the payload size, the TTL the upper bits of the response code, the version and the flags.
  init(_ record: ResourceRecord) {
    payload = record.recordClass
    version = UInt8(truncatingIfNeeded: record.ttl >> 16)
    wantsSignatures = record.ttl & Self.signaturesBit != 0
  }

  init(wantsSignatures: Bool) {
    payload = MessageFormat.payload
    version = 0
    self.wantsSignatures = wantsSignatures
  }

  /// Our OPT record, with the upper bits of a response code and the reason of a failure.
  static func append(to bytes: inout [UInt8], wantsSignatures: Bool, code: UInt16 = 0, reason: ExtendedError? = nil, text: String = "") {
    bytes.append(0)
    bytes.append(word16: RecordType.opt)
    bytes.append(word16: MessageFormat.payload)
    bytes.append(word32: UInt32(code >> 4) << 24 | (wantsSignatures ? signaturesBit : 0))
    guard let reason else { return bytes.append(word16: 0) }
    // OPTION-CODE 15: INFO-CODE and EXTRA-TEXT (RFC 8914 section 2).
    let words = text.utf8.prefix(200)
    bytes.append(word16: UInt16(6 + words.count))
    bytes.append(word16: 15)
    bytes.append(word16: UInt16(2 + words.count))
    bytes.append(word16: reason.rawValue)
    bytes.append(contentsOf: words)
  }
}
