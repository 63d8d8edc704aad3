/// The header of a regular file in an archive of tar.
///
/// Source: POSIX.1-2017, pax, "ustar Interchange Format".
package enum TapeHeader {
  package static let size = 512
  /// The longest name, in bytes.
  package static let nameLimit = 100

  /// The header of a file of root's.
  package static func bytes(name: String, mode: UInt16, size: Int, seconds: Int64) -> [UInt8] {
    var header = [UInt8](repeating: 0, count: Self.size)
    func put(_ text: some Sequence<UInt8>, at start: Int) {
      for (i, byte) in text.enumerated() { header[start + i] = byte }
    }
    put(name.utf8.prefix(nameLimit), at: 0)
    put(octal(Int64(mode), 7), at: 100)
    put(octal(0, 7), at: 108)
    put(octal(0, 7), at: 116)
    put(octal(Int64(size), 11), at: 124)
    put(octal(seconds, 11), at: 136)
    put("        ".utf8, at: 148)
    put("0".utf8, at: 156)
    put("ustar\u{0}00".utf8, at: 257)
    put("root".utf8, at: 265)
    put("root".utf8, at: 297)
    put(octal(header.reduce(0) { $0 + Int64($1) }, 6) + [0, UInt8(ascii: " ")], at: 148)
    return header
  }

  /// The size of the file and the time of its last change that a header has; `nil`: they are no numbers.
  package static func values(of header: [UInt8]) -> (size: Int, seconds: Int64)? {
    guard header.count == Self.size, let size = number(header[124..<135]), let seconds = number(header[136..<147]) else { return nil }
    return (Int(size), seconds)
  }

  /// The number of zeros between the end of a file and the next header.
  package static func padding(after size: Int) -> Int { (Self.size - size % Self.size) % Self.size }

  /// The zeros at the end of an archive.
  package static let end = 2 * size

  private static func octal(_ number: Int64, _ count: Int) -> [UInt8] {
    let digits = Array(String(max(0, number), radix: 8).utf8.suffix(count))
    return [UInt8](repeating: UInt8(ascii: "0"), count: count - digits.count) + digits
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    var number: Int64 = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(digit) else { return nil }
      number = number << 3 | Int64(digit - UInt8(ascii: "0"))
    }
    return number
  }
}
