/// A value of a binary property list (`bplist00`), of the kinds that SimpleTunnel uses.
public indirect enum PropertyList: Hashable, Sendable {
  case bool(Bool)
  case integer(Int64)
  case string(String)
  case data([UInt8])
  case array([PropertyList])
  case dictionary([String: PropertyList])

  /// The reason why bytes are no such list.
  public enum Refusal: Error, Hashable, Sendable {
    /// No `bplist00` with its trailer.
    case notBinary
    /// A number in it points outside of it.
    case outOfBounds
    /// A kind of object that SimpleTunnel has no use for: its marker.
    case unsupported(UInt8)
    /// More than `limit` values, counted as often as they are used, or deeper than 16 levels.
    case tooLarge
    /// A string that is no text, or a key that is no string.
    case malformed
  }

  /// The number of values that a list may have: a list of a few bytes can name the same array again and again.
  static let limit = 20_000
  static let depth = 16
}

extension PropertyList {
  /// Reads a list. Any bytes give a value or an error; memory is bounded by `limit`, whatever sizes the bytes claim.
  public init(decoding bytes: [UInt8]) throws(Refusal) {
    var reader = try Reader(bytes)
    self = try reader.value(reader.top, depth: 0)
  }

  private struct Reader {
    let bytes: [UInt8]
    let top: Int
    private let count: Int
    private let table: Int
    private let offsetSize: Int
    private let referenceSize: Int
    private var used = 0

    init(_ bytes: [UInt8]) throws(Refusal) {
      guard bytes.count >= 8 + 1 + 32, bytes.starts(with: Array("bplist00".utf8)) else { throw .notBinary }
      self.bytes = bytes
      let trailer = bytes.count - 32
      (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
      func number(at place: Int) throws(Refusal) -> Int {
        let value = bytes[place..<place + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard value <= UInt64(bytes.count) else { throw .outOfBounds }
        return Int(value)
      }
      count = try number(at: trailer + 8)
      top = try number(at: trailer + 16)
      table = try number(at: trailer + 24)
      guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), count >= 1, top < count, table >= 9,
        count <= (trailer - table) / offsetSize, table <= trailer
      else { throw .outOfBounds }
    }

    /// A big-endian number of 1 to 8 bytes, no larger than the file.
    private func number(at place: Int, size: Int) throws(Refusal) -> Int {
      guard place >= 0, size >= 1, size <= 8, place <= bytes.count - size else { throw .outOfBounds }
      let value = bytes[place..<place + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      guard value <= UInt64(bytes.count) else { throw .outOfBounds }
      return Int(value)
    }

    mutating func value(_ index: Int, depth: Int) throws(Refusal) -> PropertyList {
      used += 1
      guard depth < PropertyList.depth, used <= PropertyList.limit else { throw .tooLarge }
      guard index < count else { throw .outOfBounds }
      let place = try number(at: table + index * offsetSize, size: offsetSize)
      guard place >= 8, place < table else { throw .outOfBounds }
      let marker = bytes[place]
      switch marker >> 4 {
      case 0x0 where marker == 8 || marker == 9: return .bool(marker == 9)
      case 0x1: return .integer(try integer(at: place))
      case 0x4: return .data(Array(bytes[try contents(at: place, width: 1)]))
      case 0x5:
        let text = bytes[try contents(at: place, width: 1)]
        guard text.allSatisfy({ $0 < 0x80 }) else { throw .malformed }
        return .string(String(decoding: text, as: UTF8.self))
      case 0x6: return .string(try wideText(at: place))
      case 0xa: return .array(try array(at: place, depth: depth))
      case 0xd: return .dictionary(try dictionary(at: place, depth: depth))
      default: throw .unsupported(marker)
      }
    }

    private func integer(at place: Int) throws(Refusal) -> Int64 {
      let size = 1 << Int(bytes[place] & 15)
      guard size <= 8, place + 1 + size <= table else { throw .outOfBounds }
      // 1, 2 and 4 bytes are unsigned, 8 bytes are signed.
      return Int64(bitPattern: bytes[(place + 1)..<(place + 1 + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// The number of units of the object at a place, and the place of the first.
    private func length(at place: Int) throws(Refusal) -> (count: Int, start: Int) {
      let short = Int(bytes[place] & 15)
      if short < 15 { return (short, place + 1) }
      guard place + 1 < table, bytes[place + 1] >> 4 == 1, bytes[place + 1] & 15 <= 3 else { throw .outOfBounds }
      let size = 1 << Int(bytes[place + 1] & 15)
      return (try number(at: place + 2, size: size), place + 2 + size)
    }

    /// The bytes of an object with units of a width.
    private func contents(at place: Int, width: Int) throws(Refusal) -> Range<Int> {
      let (count, start) = try length(at: place)
      guard start <= table, count <= (table - start) / width else { throw .outOfBounds }
      return start..<start + count * width
    }

    private func wideText(at place: Int) throws(Refusal) -> String {
      let range = try contents(at: place, width: 2)
      let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
      guard let text = String(validating: units, as: UTF16.self) else { throw .malformed }
      return text
    }

    private mutating func array(at place: Int, depth: Int) throws(Refusal) -> [PropertyList] {
      let range = try contents(at: place, width: referenceSize)
      var items: [PropertyList] = []
      for place in stride(from: range.lowerBound, to: range.upperBound, by: referenceSize) {
        items.append(try value(try number(at: place, size: referenceSize), depth: depth + 1))
      }
      return items
    }

    private mutating func dictionary(at place: Int, depth: Int) throws(Refusal) -> [String: PropertyList] {
      let range = try contents(at: place, width: 2 * referenceSize)
      let half = range.count / 2
      var members: [String: PropertyList] = [:]
      for place in stride(from: range.lowerBound, to: range.lowerBound + half, by: referenceSize) {
        guard case .string(let key) = try value(try number(at: place, size: referenceSize), depth: depth + 1) else { throw .malformed }
        members[key] = try value(try number(at: place + half, size: referenceSize), depth: depth + 1)
      }
      return members
    }
  }
}

extension PropertyList {
  /// The list's bytes: keys in their order, equal scalars once.
  public var encoded: [UInt8] {
    var writer = Writer()
    let top = writer.add(self)
    return writer.bytes(top: top)
  }

  private struct Writer {
    private enum Object {
      case scalar([UInt8])
      case array([Int])
      case dictionary([Int], [Int])
    }

    private var objects: [Object] = []
    private var scalars: [PropertyList: Int] = [:]

    mutating func add(_ value: PropertyList) -> Int {
      if let known = scalars[value] { return known }
      let index = objects.count
      objects.append(.array([]))
      switch value {
      case .array(let items): objects[index] = .array(items.map { add($0) })
      case .dictionary(let members):
        let keys = members.keys.sorted()
        let references = keys.map { add(.string($0)) }
        objects[index] = .dictionary(references, keys.map { add(members[$0] ?? .bool(false)) })
      default:
        objects[index] = .scalar(Self.scalar(value))
        scalars[value] = index
      }
      return index
    }

    func bytes(top: Int) -> [UInt8] {
      let referenceSize = Self.size(of: objects.count - 1)
      var bytes = Array("bplist00".utf8)
      var offsets: [Int] = []
      for object in objects {
        offsets.append(bytes.count)
        switch object {
        case .scalar(let scalar): bytes += scalar
        case .array(let items): bytes += Self.marker(0xa0, items.count) + items.flatMap { Self.number($0, size: referenceSize) }
        case .dictionary(let keys, let values):
          bytes += Self.marker(0xd0, keys.count) + (keys + values).flatMap { Self.number($0, size: referenceSize) }
        }
      }
      let table = bytes.count
      let offsetSize = Self.size(of: table)
      bytes += offsets.flatMap { Self.number($0, size: offsetSize) }
      bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
      for number in [objects.count, top, table] { bytes += Self.number(number, size: 8) }
      return bytes
    }

    private static func scalar(_ value: PropertyList) -> [UInt8] {
      switch value {
      case .bool(let flag): return [flag ? 9 : 8]
      case .integer(let number):
        let power = number < 0 || number > 0xffff_ffff ? 3 : number > 0xffff ? 2 : number > 0xff ? 1 : 0
        return [0x10 | UInt8(power)] + (0..<(1 << power)).reversed().map { UInt8(truncatingIfNeeded: number >> Int64(8 * $0)) }
      case .data(let bytes): return marker(0x40, bytes.count) + bytes
      case .string(let text):
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return marker(0x50, text.utf8.count) + Array(text.utf8) }
        return marker(0x60, text.utf16.count) + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
      case .array, .dictionary: return []
      }
    }

    private static func marker(_ kind: UInt8, _ count: Int) -> [UInt8] {
      count < 15 ? [kind | UInt8(count)] : [kind | 15] + scalar(.integer(Int64(count)))
    }

    private static func number(_ value: Int, size: Int) -> [UInt8] {
      (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    private static func size(of value: Int) -> Int { value < 0x100 ? 1 : value < 0x1_0000 ? 2 : 4 }
  }
}
