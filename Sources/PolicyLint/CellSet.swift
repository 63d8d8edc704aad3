import RoamwardCore

/// A set of cells. A policy's constants divide the values of a fact into cells, which are numbered from 0.
struct CellSet: Hashable, Sendable {
  private var words: [UInt64]

  /// The cells of `0..<count` that pass the test.
  init(count: Int, where isMember: (Int) -> Bool) {
    words = Array(repeating: 0, count: (count + 63) / 64)
    for cell in 0..<count where isMember(cell) { words[cell / 64] |= 1 << UInt64(cell % 64) }
  }

  static func all(_ count: Int) -> CellSet { CellSet(count: count) { _ in true } }

  var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

  func contains(_ cell: Int) -> Bool { words[cell / 64] >> UInt64(cell % 64) & 1 == 1 }

  func intersects(_ other: CellSet) -> Bool { zip(words, other.words).contains { $0 & $1 != 0 } }

  func isSubset(of other: CellSet) -> Bool { zip(words, other.words).allSatisfy { $0 & ~$1 == 0 } }

  mutating func formIntersection(_ other: CellSet) { for i in words.indices { words[i] &= other.words[i] } }

  mutating func subtract(_ other: CellSet) { for i in words.indices { words[i] &= ~other.words[i] } }
}
