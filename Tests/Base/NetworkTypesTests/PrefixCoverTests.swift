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
}
