import NetworkTypes
import SeededRandom
import Testing

@Suite struct PrefixCoverTests {
  @Test("it answers as a look at each prefix does", arguments: 0..<300 as Range<UInt64>) func random(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    func prefix() throws -> IPPrefix {
      let bits = Int(random.next() % 9)
      let (a, b) = (random.next() % 4, random.next() % 4)
      let text = (random.chance(0.3) ? "fd0\(a):\(b)::" : "10.\(a).\(b).0") + "/\(8 + bits * 3)"
      return try #require(IPPrefix(text), "\(text)")
    }
    let all = try (0..<random.next() % 12).map { _ in try prefix() }
    let cover = PrefixCover(all)
    for (a, b) in zip(cover.prefixes, cover.prefixes.dropFirst()) { #expect(a < b && !a.overlaps(b)) }
    for one in all { #expect(cover.contains(one)) }
    for _ in 0..<50 {
      let one = try prefix()
      #expect(cover.contains(one) == all.contains { $0.contains(one) }, "\(one) in \(all)")
      #expect(cover.overlaps(one) == all.contains { $0.overlaps(one) }, "\(one) and \(all)")
    }
  }

  @Test("aggregated prefixes are the fewest, and have the same addresses", arguments: 0..<300 as Range<UInt64>)
  func aggregated(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    // All addresses of 10.0.0.0/24, by blocks of four.
    let all = try (0..<1 + random.next() % 40).map { _ in
      try #require(IPPrefix(IPAddress(v4: 0x0a00_0000 | UInt32(random.next() % 64) << 2), length: 24 + Int(random.next() % 7)))
    }
    let fewest = all.aggregated
    #expect(fewest == fewest.sorted() && fewest.aggregated == fewest)
    var covered: [Bool] = []
    for block in 0..<64 as Range<UInt32> {
      let address = IPAddress(v4: 0x0a00_0000 | block << 2)
      covered.append(all.contains { $0.contains(address) })
      #expect(fewest.count { $0.contains(address) } == (covered[Int(block)] ? 1 : 0), "\(address) of \(all)")
    }
    // A block of a power of two that is covered, while its other half is not, takes one prefix.
    var least = 0
    for length in 24...30 {
      let size = 1 << (30 - length)
      func isFull(_ start: Int, _ size: Int) -> Bool { size <= 64 && (start..<start + size).allSatisfy { covered[$0] } }
      for start in stride(from: 0, to: 64, by: size) where isFull(start, size) && !isFull(start / (2 * size) * 2 * size, 2 * size) {
        least += 1
      }
    }
    #expect(fewest.count == least, "\(all)")
  }

  @Test("a list answers as its prefixes do, one by one; copies and equal lists are equal", arguments: 0..<200 as Range<UInt64>)
  func lists(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    func prefix() throws -> IPPrefix {
      let length = Int(random.next() % 9)
      let text =
        random.chance(0.3) ? "fd00:\(random.next() % 4)::/\(16 + length)" : "10.\(random.next() % 4).\(random.next() % 4).0/\(16 + length)"
      return try #require(IPPrefix(text), "\(text)")
    }
    let all = try (0..<random.next() % 12).map { _ in try prefix() }
    let list = PrefixList(all)
    #expect(Array(list) == all && list.ascending == Set(all).sorted() && list == PrefixList(all) && list.isEmpty == all.isEmpty)
    for family in IPAddress.Family.allCases {
      #expect(list.has(family) == all.contains { $0.family == family })
      #expect(list.aggregated(family) == all.filter { $0.family == family }.aggregated)
    }
    for _ in 0..<30 {
      let one = try prefix()
      #expect(list.contains(one) == all.contains(one), "\(one) in \(all)")
      #expect(list.hold(one) == all.contains { $0.contains(one) }, "\(one) in \(all)")
      #expect(list.hold(one.address) == all.contains { $0.contains(one.address) }, "\(one) in \(all)")
      #expect((list + [one]).all == all + [one] && (list + []) == list)
    }
  }
}
