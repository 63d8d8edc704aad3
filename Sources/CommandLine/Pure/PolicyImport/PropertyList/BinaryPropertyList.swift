/// Reads a binary property list (`bplist00`).
///
/// It is implemented here because the list may share objects: 151 bytes can represent a thousand million values, and the available
/// libraries expand them. This reader counts the created values and stops at a limit.
func readBinaryPropertyList(_ bytes: [UInt8]) throws(ImportFailure) -> Property {
  var reader = try BinaryReader(bytes)
  return try reader.object(reader.top, depth: 0)
}

private struct BinaryReader {
  private let bytes: [UInt8]
  private let offsetSize: Int
  private let referenceSize: Int
  private let count: Int
  private let tableStart: Int
  let top: Int
  private var nodes = 0
  private var contents = 0

  /// The trailer: 6 unused bytes, sizes of offsets and references, then three 64-bit numbers.
  init(_ bytes: [UInt8]) throws(ImportFailure) {
    self.bytes = bytes
    guard bytes.count >= 40, bytes.starts(with: Array("bplist0".utf8)) else { throw Self.damaged }
    let trailer = bytes.count - 32
    offsetSize = Int(bytes[trailer + 6])
    referenceSize = Int(bytes[trailer + 7])
    func number(_ start: Int) -> Int? { Int(exactly: bytes[start..<(start + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) }
    guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), let count = number(trailer + 8), let top = number(trailer + 16),
      let tableStart = number(trailer + 24), tableStart <= trailer, count <= (trailer - tableStart) / offsetSize, top < count
    else { throw Self.damaged }
    self.count = count
    self.top = top
    self.tableStart = tableStart
  }

  mutating func object(_ index: Int, depth: Int) throws(ImportFailure) -> Property {
    guard index < count else { throw Self.damaged }
    guard depth <= ImportLimits.depth else {
      throw ImportFailure("lists are nested more than \(ImportLimits.depth) deep, or contain themselves")
    }
    nodes += 1
    guard nodes <= ImportLimits.nodes else { throw ImportFailure("there are more than \(ImportLimits.nodes) values") }
    let start = try number(at: tableStart + index * offsetSize, size: offsetSize)
    guard start < tableStart else { throw Self.damaged }
    let low = Int(bytes[start] & 0x0f)
    switch bytes[start] >> 4 {
    case 0 where low == 8 || low == 9: return Property(.boolean(low == 9))
    case 1: return Property(.integer(try integer(at: start + 1, size: 1 << low)))
    case 2: return Property(.real(try real(at: start + 1, size: 1 << low)))
    case 3: return Property(.date("\(try real(at: start + 1, size: 8))"))
    case 4:
      let range = try payload(start, width: 1)
      return Property(.data(Array(bytes[range])))
    case 5, 7: return Property(.string(String(decoding: bytes[try payload(start, width: 1)], as: UTF8.self)))
    case 6:
      let range = try payload(start, width: 2)
      let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
      return Property(.string(String(decoding: units, as: UTF16.self)))
    case 10:
      let range = try payload(start, width: referenceSize)
      var items: [Property] = []
      for place in stride(from: range.lowerBound, to: range.upperBound, by: referenceSize) {
        items.append(try object(number(at: place, size: referenceSize), depth: depth + 1))
      }
      return Property(.array(items))
    case 13: return try dictionary(try payload(start, width: 2 * referenceSize), depth: depth)
    default: throw Self.damaged
    }
  }

  /// The references of all keys, then of all values.
  private mutating func dictionary(_ range: Range<Int>, depth: Int) throws(ImportFailure) -> Property {
    let half = range.count / 2
    var entries: [Property.Entry] = []
    var names: Set<String> = []
    for place in stride(from: range.lowerBound, to: range.lowerBound + half, by: referenceSize) {
      guard case .string(let key) = try object(number(at: place, size: referenceSize), depth: depth + 1).content else { throw Self.damaged }
      guard names.insert(key).inserted else {
        throw ImportFailure("the key \"\(shownValue(key))\" is given twice in one dictionary", help: "keep one of the two")
      }
      entries.append(Property.Entry(key, try object(number(at: place + half, size: referenceSize), depth: depth + 1)))
    }
    return Property(.dictionary(entries))
  }

  /// The contents of a sized object. The count is in the low half of its first byte; 15 means that an integer object follows.
  private mutating func payload(_ start: Int, width: Int) throws(ImportFailure) -> Range<Int> {
    var length = Int(bytes[start] & 0x0f)
    var begin = start + 1
    if length == 15 {
      guard begin < tableStart, bytes[begin] >> 4 == 1, bytes[begin] & 0x0f <= 3 else { throw Self.damaged }
      let size = 1 << Int(bytes[begin] & 0x0f)
      length = try number(at: begin + 1, size: size)
      begin += 1 + size
    }
    guard begin <= tableStart, length <= (tableStart - begin) / width else { throw Self.damaged }
    contents += length * width
    guard contents <= ImportLimits.contents else { throw ImportFailure("its texts come to more than 64 MiB") }
    return begin..<(begin + length * width)
  }

  private func number(at start: Int, size: Int) throws(ImportFailure) -> Int {
    guard start >= 0, start <= bytes.count - size else { throw Self.damaged }
    guard let value = Int(exactly: bytes[start..<(start + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) else { throw Self.damaged }
    return value
  }

  /// Eight bytes are signed; sixteen are a 64-bit number whose upper half is zero.
  private func integer(at start: Int, size: Int) throws(ImportFailure) -> Int64 {
    guard size <= 16, start <= bytes.count - size else { throw Self.damaged }
    let value = bytes[start..<(start + size)].suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int64(bitPattern: value)
  }

  private func real(at start: Int, size: Int) throws(ImportFailure) -> Double {
    guard size == 4 || size == 8, start <= bytes.count - size else { throw Self.damaged }
    let value = bytes[start..<(start + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return size == 4 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: value))) : Double(bitPattern: value)
  }

  private static let damaged = ImportFailure("this binary property list is damaged")
}
