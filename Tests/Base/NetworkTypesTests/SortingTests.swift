import NetworkTypes
import SeededRandom
import Testing

@Suite("Sorting") struct SortingTests {
  @Test("orders as the standard library does, and keeps equal elements in their order", arguments: [UInt64(1), 2, 3])
  func likeTheStandardLibrary(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<200 {
      let elements = (0..<Int.random(in: 0...70, using: &random)).map { (place: $0, key: Int.random(in: 0...9, using: &random)) }
      var expected = elements
      expected.sort { $0.key < $1.key }
      let sorted: [(place: Int, key: Int)] = elements.sorted { $0.key < $1.key }
      #expect(sorted.map(\.place) == expected.map(\.place), "seed \(seed)")
      #expect(Set(elements.map(\.key)).sorted() == (0...9).filter { key in elements.contains { $0.key == key } })
    }
  }

  @Test("throws what the order throws") func throwing() {
    struct Stop: Error {}
    #expect(throws: Stop.self) { try [2, 1].sorted { _, _ in throw Stop() } }
  }
}
