import NetworkTypes

/// A set of values as a word: 63 bits for values, by hash, and one for an unknown fact.
///
/// Two values may share a bit. So marks can prove that two sets have no value in common, and never that they have one.
package struct Marks: Hashable, Sendable {
  private let bits: UInt64

  private init(bits: UInt64) { self.bits = bits }

  private init(hash: UInt64) { bits = 1 << (hash % 63) }

  /// No value: a fact that is known to be absent.
  static let none = Marks(bits: 0)
  /// The fact is unknown.
  static let unknown = Marks(bits: 1 << 63)

  /// Whether a value may be in both sets.
  func mayMeet(_ other: Marks) -> Bool { bits & other.bits != 0 }

  static func | (a: Marks, b: Marks) -> Marks { Marks(bits: a.bits | b.bits) }

  /// The number of bits that are set, 0 to 64. Fewer exclude more.
  var count: Int { bits.nonzeroBitCount }
}

extension Sequence {
  func marks(_ marks: (Element) -> Marks) -> Marks { reduce(.none) { $0 | marks($1) } }
}

extension Fact {
  /// The marks of the value, or that of an unknown fact.
  func marks(_ marks: (Value) -> Marks) -> Marks {
    switch self {
    case .known(let value): marks(value)
    case .unknown: .unknown
    }
  }
}

// MARK: Values that are compared as a whole

extension Marks {
  init(_ text: String) { self.init(hash: FNV1a(text).value) }

  init(_ value: Bool) { self.init(hash: value ? 1 : 0) }

  /// A word of an enumeration: each of the first 63 has a bit of its own.
  init<Word: CaseIterable & Equatable>(word: Word) { self.init(hash: UInt64(Word.allCases.prefix { $0 != word }.count)) }

  init(_ name: SSID) { self.init(prefix: name.bytes) }

  init(_ address: MACAddress) { self.init(words: (address.value, 0, 0)) }

  init(_ address: IPAddress) { self.init(.host(address)) }

  private init(prefix bytes: some Sequence<UInt8>) {
    var hash = FNV1a()
    for byte in bytes { hash.add(byte) }
    self.init(hash: hash.value)
  }

  private init(words: (UInt64, UInt64, UInt64)) {
    func mix(_ word: UInt64) -> UInt64 { (word &* 0x9e37_79b9_7f4a_7c15) ^ (word &* 0x9e37_79b9_7f4a_7c15) >> 32 }
    self.init(hash: mix(words.0 ^ mix(words.1 ^ mix(words.2))))
  }
}

// MARK: Values that are compared with patterns

// A pattern stands for the values that begin or end as it does, so it gets the mark of that part. A value gets the mark of each such part.

extension Marks {
  /// The length of the part of a name that has a mark, in bytes.
  private static let namePart = 2

  /// The mark of the bytes before the first wildcard.
  init(_ pattern: Glob) {
    self.init(prefix: pattern.description.utf8.prefix(Self.namePart).prefix { $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: "?") })
  }

  /// All marks of patterns that may match the name.
  init(ofPatternsFor name: [UInt8]) {
    self = (0...Self.namePart).marks { Marks(prefix: name.prefix($0)) }
  }

  init(_ pattern: DomainPattern) {
    switch pattern {
    case .any: self.init(prefix: [])
    case .within(let name): self.init(prefix: name.text.utf8.reversed())
    }
  }

  /// All marks of patterns that may match the name: of the name, of those above it, and of `*`.
  init(ofPatternsFor name: DomainName) {
    var hash = FNV1a()
    self.init(hash: hash.value)
    for byte in name.text.utf8.reversed() {
      if byte == UInt8(ascii: ".") { self = self | Marks(hash: hash.value) }
      hash.add(byte)
    }
    self = self | Marks(hash: hash.value)
  }

  /// The lengths of prefixes that have a mark.
  private static func lengths(of family: IPAddress.Family) -> [Int] { family == .v4 ? [0, 8, 16, 24, 32] : [0, 32, 48, 64, 128] }

  /// The mark of the longest marked prefix that contains this one.
  init(_ prefix: IPPrefix) {
    let length = Self.lengths(of: prefix.family).last { $0 <= prefix.length } ?? 0
    let first = prefix.address.masked(to: length)
    self.init(words: (first.low, first.high, UInt64(first.family.rawValue) << 8 | UInt64(length)))
  }

  /// All marks of prefixes that may contain the address.
  init(ofPrefixesFor address: IPAddress) {
    self = Self.lengths(of: address.family).marks { length in IPPrefix(address, length: length).map { Marks($0) } ?? .none }
  }
}
