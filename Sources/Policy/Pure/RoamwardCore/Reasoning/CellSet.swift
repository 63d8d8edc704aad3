/// A set of cells. A policy's constants divide the values of a fact into cells, which are numbered from 0.
package struct CellSet: Hashable, Sendable {
  /// The first 64 cells: most facts of most policies have no more, and a set of them needs no memory of its own.
  private var first: UInt64 = 0
  private var words: [UInt64] = []

  /// The cells of `0..<count` that pass the test.
  package init(count: Int, where isMember: (Int) -> Bool) {
    if count > 64 { words = Array(repeating: 0, count: (count - 1) / 64) }
    for cell in 0..<count where isMember(cell) {
      let bit: UInt64 = 1 << UInt64(cell % 64)
      if cell < 64 { first |= bit } else { words[cell / 64 - 1] |= bit }
    }
  }

  package static func all(_ count: Int) -> CellSet { CellSet(count: count) { _ in true } }

  package var isEmpty: Bool { first == 0 && words.allSatisfy { $0 == 0 } }

  package func contains(_ cell: Int) -> Bool { (cell < 64 ? first : words[cell / 64 - 1]) >> UInt64(cell % 64) & 1 == 1 }

  package func intersects(_ other: CellSet) -> Bool { first & other.first != 0 || zip(words, other.words).contains { $0 & $1 != 0 } }

  package func isSubset(of other: CellSet) -> Bool { first & ~other.first == 0 && zip(words, other.words).allSatisfy { $0 & ~$1 == 0 } }

  package mutating func formIntersection(_ other: CellSet) {
    first &= other.first
    for i in words.indices { words[i] &= other.words[i] }
  }

  package mutating func subtract(_ other: CellSet) {
    first &= ~other.first
    for i in words.indices { words[i] &= ~other.words[i] }
  }
}
