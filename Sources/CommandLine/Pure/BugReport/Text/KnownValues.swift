/// Values that are replaced wherever they stand, the longest first.
struct KnownValues {
  private var byFirst: [UInt8: [(value: [UInt8], replacement: [UInt8])]] = [:]
  /// Whether a value counts only where no letter or digit stands beside it.
  private let onlyWords: Bool

  init(onlyWords: Bool = false) { self.onlyWords = onlyWords }

  func contains(_ value: [UInt8]) -> Bool { value.first.flatMap { byFirst[$0] }?.contains { $0.value == value } ?? false }

  mutating func add(_ value: ArraySlice<UInt8>, as replacement: [UInt8], atLeast length: Int) {
    guard value.count >= length, let first = value.first, !contains(Array(value)) else { return }
    byFirst[first, default: []].append((Array(value), replacement))
    byFirst[first] = byFirst[first]?.sorted { $0.value.count > $1.value.count }
  }

  func replaced(in line: [UInt8], _ count: inout Int) -> [UInt8] {
    if byFirst.isEmpty { return line }
    var result: [UInt8] = []
    result.reserveCapacity(line.count)
    var place = 0
    while place < line.count {
      if let found = byFirst[line[place]]?.first(where: { line[place...].starts(with: $0.value) && isWhole($0.value, at: place, in: line) })
      {
        result += found.replacement
        place += found.value.count
        count += 1
      } else {
        result.append(line[place])
        place += 1
      }
    }
    return result
  }

  private func isWhole(_ value: [UInt8], at place: Int, in line: [UInt8]) -> Bool {
    guard onlyWords else { return true }
    let end = place + value.count
    return !(place > 0 && Self.isLetter(line[place - 1])) && !(end < line.count && Self.isLetter(line[end]))
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }
}
