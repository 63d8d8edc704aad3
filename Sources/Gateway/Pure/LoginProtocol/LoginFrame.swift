/// A message of the login: a kind and fields. docs/wire-format.md describes each byte.
///
/// Two bytes of length in network order, one byte of kind, then the fields: a byte of tag, two bytes of length, the value. Tags ascend, and
/// each occurs once; a reader ignores tags that it does not know.
package struct LoginFrame: Hashable, Sendable {
  package let kind: UInt8
  package private(set) var fields: [Field]

  package struct Field: Hashable, Sendable {
    package let tag: UInt8
    package let value: [UInt8]
  }

  /// The most bytes behind the length.
  package static let limit = 1200
  /// The most fields.
  package static let fieldLimit = 32

  package init(_ kind: UInt8) {
    self.kind = kind
    fields = []
  }

  /// Adds a field, whose tag is above those before it.
  package mutating func add(_ tag: UInt8, _ value: [UInt8]) { fields.append(Field(tag: tag, value: value)) }
  package mutating func add(_ tag: UInt8, _ text: String) { add(tag, Array(text.utf8)) }

  package subscript(tag: UInt8) -> [UInt8]? { fields.first { $0.tag == tag }?.value }

  package var bytes: [UInt8] {
    var body = [kind]
    for field in fields { body += [field.tag] + Self.bigEndian(field.value.count) + field.value }
    return Self.bigEndian(body.count) + body
  }

  static func bigEndian(_ number: Int) -> [UInt8] { [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)] }

  /// Reads what follows the length.
  package init(body: ArraySlice<UInt8>) throws(LoginFrameError) {
    guard let kind = body.first else { throw .empty }
    self.init(kind)
    var rest = body.dropFirst()
    var previous = -1
    while !rest.isEmpty {
      let head = Array(rest.prefix(3))
      guard head.count == 3 else { throw .truncated }
      let (tag, length) = (head[0], Int(head[1]) << 8 | Int(head[2]))
      rest = rest.dropFirst(3)
      guard rest.count >= length else { throw .truncated }
      guard Int(tag) > previous else { throw .order }
      guard fields.count < Self.fieldLimit else { throw .tooLong }
      add(tag, Array(rest.prefix(length)))
      previous = Int(tag)
      rest = rest.dropFirst(length)
    }
  }
}

/// The reason why bytes are no frame, or a frame is no message.
package enum LoginFrameError: Error, Hashable, Sendable {
  /// No kind.
  case empty
  /// Longer than a frame may be, or with more fields.
  case tooLong
  /// A field ends after its frame.
  case truncated
  /// Tags do not ascend.
  case order
  /// No message of this kind.
  case kind
  /// A field of the message is missing or has a wrong value.
  case field
}

/// The frames of a stream, from pieces of any size. Keeps less than one frame.
package struct LoginFrameStream: Sendable {
  private var waiting: [UInt8] = []

  package init() {}

  /// Takes a piece; returns the frames that it completes. After an error the stream is of no use.
  package mutating func receive(_ piece: some Collection<UInt8>) throws(LoginFrameError) -> [LoginFrame] {
    waiting += piece
    var frames: [LoginFrame] = []
    var start = 0
    while waiting.count - start >= 2 {
      let length = Int(waiting[start]) << 8 | Int(waiting[start + 1])
      guard length > 0 else { throw .empty }
      guard length <= LoginFrame.limit else { throw .tooLong }
      let end = start + 2 + length
      guard waiting.count >= end else { break }
      frames.append(try LoginFrame(body: waiting[(start + 2)..<end]))
      start = end
    }
    waiting.removeFirst(start)
    return frames
  }

  /// Takes a piece; returns the first frame, and the bytes behind it, which may be of another format.
  package mutating func receiveFirst(_ piece: some Collection<UInt8>) throws(LoginFrameError) -> (frame: LoginFrame, rest: [UInt8])? {
    waiting += piece
    guard waiting.count >= 2 else { return nil }
    let length = Int(waiting[0]) << 8 | Int(waiting[1])
    guard length > 0 else { throw .empty }
    guard length <= LoginFrame.limit else { throw .tooLong }
    guard waiting.count >= 2 + length else { return nil }
    defer { waiting = [] }
    return (try LoginFrame(body: waiting[2..<(2 + length)]), Array(waiting[(2 + length)...]))
  }
}
