internal import NetworkTypes

/// A client's question, with what its answer needs.
package struct Question: Hashable, Sendable {
  package var client: Client
  /// The moment of its arrival.
  let arrival: Moment
  let id: UInt16
  /// RD, AD and CD.
  let flags: UInt16
  /// QNAME, QTYPE and QCLASS, in the client's letter case.
  let wire: [UInt8]
  let edns: EDNS?

  init(_ message: Span<UInt8>, _ outline: QuestionOutline, from client: Client, at now: Moment) {
    self.client = client
    arrival = now
    id = outline.id
    flags = outline.flags
    var wire: [UInt8] = []
    wire.reserveCapacity(outline.range.count)
    wire.append(message, outline.range)
    self.wire = wire
    edns = outline.edns
  }

  /// A question of our own, which has no client.
  init(ofOurOwn wire: [UInt8], at now: Moment) {
    client = Client(listener: 0, address: .unspecified(.v4), port: 0, isLocal: true)
    arrival = now
    id = 0
    flags = HeaderFlags.recursionDesired
    self.wire = wire
    edns = nil
  }

  var type: UInt16 { wire.span.word16(wire.count - 4) }

  /// The longest answer in bytes that its client takes.
  var limit: Int { QuestionKey.limit(of: client, edns) }

  /// The name as text, with \DDD for bytes that a policy's name cannot have (RFC 1035 section 5.1); without a dot at its end.
  package var nameText: String {
    var text = ""
    var offset = 0
    while offset < wire.count, wire[offset] > 0 {
      if offset > 0 { text += "." }
      for byte in wire[offset + 1...offset + Int(wire[offset])] {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "\\"): text += "\\" + String(UnicodeScalar(byte))
        case 33...126: text.unicodeScalars.append(UnicodeScalar(byte))
        default: text += "\\" + String("00\(byte)".suffix(3))
        }
      }
      offset += 1 + Int(wire[offset])
    }
    return text.isEmpty ? "." : text
  }
}

/// The key of a question: questions with equal keys share one answer.
struct QuestionKey: Equatable, Sendable {
  /// Of the name without regard to case, the type, the class and `variant`; with the machine's seed.
  let hash: UInt64
  /// RD, AD, CD, the presence of EDNS and DO: answers differ by them.
  let variant: UInt16

  init(_ message: Span<UInt8>, _ range: Range<Int>, flags: UInt16, edns: EDNS?, seed: UInt64) {
    variant = flags | (edns == nil ? 0 : 1) | (edns?.wantsSignatures == true ? 2 : 0)
    var hash = FNV1a(variant: seed)
    for i in range { hash.add(lowerCase(message[i])) }
    hash.add(UInt8(truncatingIfNeeded: variant >> 8))
    hash.add(UInt8(truncatingIfNeeded: variant))
    self.hash = hash.value
  }

  init(hash: UInt64, variant: UInt16) {
    self.hash = hash
    self.variant = variant
  }

  init(_ question: Question, seed: UInt64) {
    self.init(question.wire.span, 0..<question.wire.count, flags: question.flags, edns: question.edns, seed: seed)
  }

  static func limit(of client: Client, _ edns: EDNS?) -> Int {
    guard case .datagram = client.transport else { return 65_535 }
    return max(MessageFormat.plainLimit, Int(edns?.payload ?? 0))
  }
}
