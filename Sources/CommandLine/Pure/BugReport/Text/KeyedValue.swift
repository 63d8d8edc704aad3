/// A value in a line of text with the name before it: `password: x`, `"token": "x"`, `PrivateKey = x`, `--cookie=x`, `--password x`.
struct KeyedValue {
  /// The letters of the name, in lower case.
  let name: String
  /// The bytes of the value, without quotes.
  let value: Range<Int>
  let isQuoted: Bool
  /// Whether the name is that of an option: `--name`, `-n`.
  let isOption: Bool
  /// Whether the value may go on in the following lines, which are indented further: it is empty, or the start of a block.
  let mayContinue: Bool

  /// The values of a line, in order. Without quotes a value goes to the end of the line, and so may hold others.
  static func all(in line: [UInt8]) -> [KeyedValue] {
    var found: [KeyedValue] = []
    var place = 0
    while place < line.count {
      guard isWord(line[place]) else {
        place += 1
        continue
      }
      let end = line[place...].firstIndex { !isWord($0) } ?? line.count
      let word = line[place..<end]
      let isOption = word.first == UInt8(ascii: "-")
      if isOption, let value = attached(to: word) {
        found.append(KeyedValue(name: "p", value: value, isQuoted: true, isOption: true, mayContinue: false))
      } else if let value = value(after: end, in: line, isOption: isOption) {
        found.append(
          KeyedValue(
            name: letters(word), value: value.range, isQuoted: value.isQuoted, isOption: isOption, mayContinue: value.mayContinue))
      } else if let value = Wording.value(after: word, in: line) {
        found.append(KeyedValue(name: "secret", value: value, isQuoted: true, isOption: false, mayContinue: false))
      } else if let value = Wording.element(word, in: line) {
        found.append(KeyedValue(name: letters(word), value: value, isQuoted: true, isOption: false, mayContinue: false))
      }
      place = end
    }
    return found
  }

  /// The nature of the value, by its name. Some names stand before other things too, so the value decides.
  func nature(in line: [UInt8]) -> ValueNature? {
    let word = line[value].prefix { $0 > 0x20 && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "'") }
    switch name {
    case "code", "pin": return word.count >= 4 && word.contains { (0x30...0x39).contains($0) } ? .secret : nil
    case "u", "user", "proxyuser": return isOption && word.contains(UInt8(ascii: ":")) ? .secret : nil
    default: return ValueNature(ofName: name)
    }
  }

  static func letters(_ word: ArraySlice<UInt8>) -> String {
    String(decoding: word.map { $0 | 0x20 }.filter { (97...122).contains($0) }, as: UTF8.self)
  }

  /// A password behind `-p` without a space. Other options of one letter and a word have no digit.
  private static func attached(to word: ArraySlice<UInt8>) -> Range<Int>? {
    let value = word.dropFirst(2)
    guard word.dropFirst().first == UInt8(ascii: "p"), value.count >= 5, value.first != UInt8(ascii: "-") else { return nil }
    let hasDigit = value.contains { (0x30...0x39).contains($0) }
    return hasDigit && !value.contains(UInt8(ascii: "-")) ? value.startIndex..<value.endIndex : nil
  }

  private static func value(after end: Int, in line: [UInt8], isOption: Bool) -> (range: Range<Int>, isQuoted: Bool, mayContinue: Bool)? {
    var place = end
    func skip(_ bytes: String) { while place < line.count, bytes.utf8.contains(line[place]) { place += 1 } }
    func isAt(_ bytes: String) -> Bool { place < line.count && bytes.utf8.contains(line[place]) }
    if isAt("\"'") { place += 1 }
    let closed = place
    skip(" \t")
    var isMapping = false
    if isAt(":=") {
      isMapping = line[place] == UInt8(ascii: ":")
      place += 1
    } else if isOption, place > closed || isAt(",") {
      skip(",")
    } else {
      return nil
    }
    skip(" \t")
    if isOption { skip("\"'") }
    if !isOption, isAt("\"'") {
      let quote = line[place]
      let start = place + 1
      var stop = start
      while stop < line.count, line[stop] != quote { stop += line[stop] == UInt8(ascii: "\\") ? 2 : 1 }
      return (start..<min(stop, line.count), true, false)
    }
    var stop = line.count
    while stop > place, [0x20, 0x09, 0x0d].contains(line[stop - 1]) { stop -= 1 }
    return (place..<stop, false, isMapping && opensBlock(line[place..<stop]))
  }

  /// Whether a value is empty, a block scalar, or a list or mapping without its end.
  private static func opensBlock(_ value: ArraySlice<UInt8>) -> Bool {
    guard let first = value.first, let last = value.last else { return true }
    return "|>".utf8.contains(first) || "[{".utf8.contains(first) && !"]}".utf8.contains(last)
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
