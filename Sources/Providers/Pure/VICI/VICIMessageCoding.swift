/// The reason why bytes are no message, or a message has no bytes.
package enum VICIError: Error, Equatable, Sendable {
  /// It ends within an element.
  case truncated
  /// An element of an unknown type, or in a place where it cannot be.
  case unexpected(UInt8)
  /// Sections are deeper than `VICIMessage.depth`.
  case tooDeep
  /// A name has more than 255 bytes, a value more than 65,535, or a packet more than `VICIPacket.limit`.
  case tooLong
  /// The end of a section or list is missing.
  case unfinished
}

/// The types of elements.
private enum Mark {
  static let sectionStart: UInt8 = 1
  static let sectionEnd: UInt8 = 2
  static let keyValue: UInt8 = 3
  static let listStart: UInt8 = 4
  static let listItem: UInt8 = 5
  static let listEnd: UInt8 = 6
}

extension VICIMessage {
  /// Sections within sections; charon's own messages have 4.
  package static let depth = 16

  package func encoded() throws(VICIError) -> [UInt8] {
    var bytes: [UInt8] = []
    try write(into: &bytes, depth: 0)
    return bytes
  }

  private func write(into bytes: inout [UInt8], depth: Int) throws(VICIError) {
    guard depth <= Self.depth else { throw .tooDeep }
    for element in elements {
      switch element.content {
      case .value(let value):
        bytes.append(Mark.keyValue)
        try bytes.appendName(element.key)
        try bytes.appendValue(value)
      case .list(let items):
        bytes.append(Mark.listStart)
        try bytes.appendName(element.key)
        for item in items {
          bytes.append(Mark.listItem)
          try bytes.appendValue(item)
        }
        bytes.append(Mark.listEnd)
      case .section(let section):
        bytes.append(Mark.sectionStart)
        try bytes.appendName(element.key)
        try section.write(into: &bytes, depth: depth + 1)
        bytes.append(Mark.sectionEnd)
      }
    }
  }

  /// Reads a message. Any bytes give a message or an error.
  package init(decoding bytes: ArraySlice<UInt8>) throws(VICIError) {
    var rest = bytes
    // The sections that are open, the outermost first; each with its name.
    var open: [(name: String, message: VICIMessage)] = [("", VICIMessage())]
    while let type = rest.popFirst() {
      let inner = open.count - 1
      switch type {
      case Mark.sectionStart:
        guard open.count <= Self.depth else { throw .tooDeep }
        open.append((try rest.takeName(), VICIMessage()))
      case Mark.sectionEnd:
        guard inner > 0 else { throw .unexpected(type) }
        let (name, section) = open.removeLast()
        open[inner - 1].message.elements.append(Element(name, .section(section)))
      case Mark.keyValue:
        let name = try rest.takeName()
        open[inner].message.elements.append(Element(name, .value(try rest.takeValue())))
      case Mark.listStart:
        let name = try rest.takeName()
        open[inner].message.elements.append(Element(name, .list(try rest.takeItems())))
      default: throw .unexpected(type)
      }
    }
    guard open.count == 1 else { throw .unfinished }
    self = open[0].message
  }
}

extension [UInt8] {
  mutating func appendName(_ name: String) throws(VICIError) {
    guard let length = UInt8(exactly: name.utf8.count) else { throw .tooLong }
    append(length)
    append(contentsOf: name.utf8)
  }

  fileprivate mutating func appendValue(_ value: [UInt8]) throws(VICIError) {
    guard let length = UInt16(exactly: value.count) else { throw .tooLong }
    append(UInt8(length >> 8))
    append(UInt8(length & 0xff))
    append(contentsOf: value)
  }
}

extension ArraySlice<UInt8> {
  mutating func take(_ count: Int) throws(VICIError) -> [UInt8] {
    guard self.count >= count else { throw .truncated }
    let taken = Array(prefix(count))
    removeFirst(count)
    return taken
  }

  mutating func takeName() throws(VICIError) -> String {
    guard let length = popFirst() else { throw .truncated }
    return String(decoding: try take(Int(length)), as: UTF8.self)
  }

  fileprivate mutating func takeValue() throws(VICIError) -> [UInt8] {
    let length = try take(2)
    return try take(Int(length[0]) << 8 | Int(length[1]))
  }

  fileprivate mutating func takeItems() throws(VICIError) -> [[UInt8]] {
    var items: [[UInt8]] = []
    while let type = popFirst() {
      switch type {
      case Mark.listItem: items.append(try takeValue())
      case Mark.listEnd: return items
      default: throw .unexpected(type)
      }
    }
    throw .unfinished
  }
}
