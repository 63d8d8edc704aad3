import SeededRandom
import Testing

@testable import NameServer

@Suite("Numbers by their keys")
struct NumberIndexTests {
  @Test("an index does what a dictionary does, also with keys that share places", arguments: [1, 2, 3, 4] as [UInt64])
  func same(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var index = NumberIndex(seed: random.next())
    var expected: [UInt64: Int] = [:]
    // Few keys, so that most are there already; a step as large as the table's makes them crowd.
    let step: UInt64 = seed % 2 == 0 ? 1 << 58 : 1
    for _ in 0..<20_000 {
      let key = UInt64.random(in: 0..<200, using: &random) &* step
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        let number = Int.random(in: 0..<5, using: &random)
        index.set(number, for: key)
        expected[key] = number
      case 1:
        let number = Int.random(in: 0..<5, using: &random)
        index.remove(key, of: number)
        if expected[key] == number { expected[key] = nil }
      default: #expect(index[key] == expected[key])
      }
      #expect(index.count == expected.count)
    }
    for (key, number) in expected { #expect(index[key] == number) }
  }

  @Test("nothing is found in an empty index, and nothing removed")
  func empty() {
    var index = NumberIndex(seed: 0)
    #expect(index[0] == nil && index.isEmpty)
    index.remove(0, of: 0)
    #expect(index.isEmpty)
  }
}
