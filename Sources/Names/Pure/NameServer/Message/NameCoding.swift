/// Names in messages (RFC 1035 sections 3.1 and 4.1.4). Every function is total: on any bytes it gives a value or `nil`.
enum NameCoding {
  /// The offset behind a name, of which the end may be a pointer; the pointer is not followed.
  static func end(of message: Span<UInt8>, at start: Int) -> Int? {
    var offset = start
    while offset < message.count {
      let length = Int(message[offset])
      if length == 0 { return offset + 1 }
      if length >= 0xc0 { return offset + 2 <= message.count ? offset + 2 : nil }
      // 0x40 and 0x80 are not in use (RFC 6891 section 5).
      guard length < 0x40 else { return nil }
      offset += 1 + length
      if offset - start >= MessageFormat.longestName { return nil }
    }
    return nil
  }

  /// The offset behind a name without pointers.
  static func plainEnd(of message: Span<UInt8>, at start: Int) -> Int? {
    var offset = start
    while offset < message.count {
      let length = Int(message[offset])
      if length == 0 { return offset + 1 }
      guard length < 0x40 else { return nil }
      offset += 1 + length
      if offset - start >= MessageFormat.longestName { return nil }
    }
    return nil
  }

  /// The pointers that a name may have: as many as labels.
  private static let mostPointers = 127

  /// Whether a name can be expanded. A pointer has to lead backwards, before everything that was read of the name so far. So each pointer
  /// is followed once, and none leads round.
  static func isValid(in message: Span<UInt8>, at start: Int) -> Bool {
    // The name of most records: a pointer to the question's name, which was checked.
    if start + 1 < message.count, message[start] == 0xc0, message[start + 1] == UInt8(MessageFormat.header) { return true }
    return walk(message, at: start) { _ in }
  }

  /// The name without pointers, as length bytes and labels; `nil`: it cannot be expanded.
  static func expanded(in message: Span<UInt8>, at start: Int) -> [UInt8]? {
    var name: [UInt8] = []
    let isWhole = walk(message, at: start) { label in
      for i in label { name.append(message[i]) }
    }
    return isWhole ? name + [0] : nil
  }

  /// Passes the places of the labels, each with its length byte, in order. Returns whether the name is whole and has at most 255 bytes.
  private static func walk(_ message: Span<UInt8>, at start: Int, _ take: (Range<Int>) -> Void) -> Bool {
    var offset = start
    // A pointer has to lead to a place before this one.
    var bound = start
    var length = 1
    var pointers = 0
    while offset < message.count {
      let byte = Int(message[offset])
      if byte == 0 { return true }
      if byte >= 0xc0 {
        guard offset + 1 < message.count else { return false }
        let target = (byte & 0x3f) << 8 | Int(message[offset + 1])
        pointers += 1
        guard target < bound, target >= MessageFormat.header, pointers <= mostPointers else { return false }
        offset = target
        bound = target
        continue
      }
      guard byte < 0x40, offset + 1 + byte <= message.count else { return false }
      length += 1 + byte
      guard length <= MessageFormat.longestName else { return false }
      take(offset..<offset + 1 + byte)
      offset += 1 + byte
    }
    return false
  }
}

/// A name as text for the rules: lower case, dots between labels, none at the end. A byte that `DomainName` does not allow is 0xff, which
/// no domain of a rule has: a dot inside a label separates nothing.
struct NameText {
  private(set) var bytes = InlineArray<255, UInt8>(repeating: 0)
  private(set) var count = 0

  /// - Parameter start: the offset of a name without pointers, which was checked.
  init(_ message: Span<UInt8>, at start: Int) {
    var offset = start
    while offset < message.count {
      let length = Int(message[offset])
      guard length > 0, offset + length < message.count, count + length < 255 else { return }
      if count > 0 { append(UInt8(ascii: ".")) }
      for i in offset + 1...offset + length { append(Self.folded(message[i])) }
      offset += 1 + length
    }
  }

  private mutating func append(_ byte: UInt8) {
    bytes[count] = byte
    count += 1
  }

  private static func folded(_ byte: UInt8) -> UInt8 {
    let lower = lowerCase(byte)
    let isAllowed = lower &- 97 < 26 || lower &- 48 < 10 || lower == 45 || lower == 95
    return isAllowed ? lower : 0xff
  }
}
