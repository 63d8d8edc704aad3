import NetworkTypes
import SeededRandom
import Testing

/// "Everything" has one meaning: the union of the prefixes is the whole family.
@Suite struct EverythingTests {
  @Test("a family in pieces of any size is everything, in any order and with repeats; without one piece it is not")
  func pieces() throws {
    var random = SplitMix64(seed: 24)
    for round in 0..<2_000 {
      let family = random.chance(0.5) ? IPAddress.Family.v4 : .v6
      var pieces = [IPPrefix.everything(family)]
      for _ in 0..<Int(random.next() % 24) {
        let place = Int(random.next() % UInt64(pieces.count))
        guard pieces[place].length < family.bitWidth else { continue }
        pieces += try halves(of: pieces.remove(at: place))
      }
      let missing = pieces[Int(random.next() % UInt64(pieces.count))]
      let other = IPPrefix.everything(family == .v4 ? .v6 : .v4)
      var listed = pieces + (0..<3).map { _ in random.pick(pieces) }
      listed.shuffle(using: &random)
      #expect(listed.coverEverything(of: family) && listed.coverEverything, "round \(round): \(listed)")
      #expect(!listed.coverEverything(of: other.family), "round \(round): \(listed)")
      let gap = listed.filter { $0 != missing } + (missing.length < family.bitWidth ? [try halves(of: missing)[0]] : [])
      #expect(!gap.coverEverything(of: family) && !gap.coverEverything, "round \(round): \(gap)")
      #expect((gap + [other]).coverEverything && (gap + [.everything(family)]).coverEverything(of: family))
    }
    #expect(![IPPrefix]().coverEverything)
  }

  private func halves(of prefix: IPPrefix) throws -> [IPPrefix] {
    let low = try #require(IPPrefix(prefix.address, length: prefix.length + 1))
    let bit = prefix.family.bitWidth - prefix.length - 1
    let high = IPAddress(
      family: prefix.family, high: prefix.address.high | (bit >= 64 ? 1 << UInt64(bit - 64) : 0),
      low: prefix.address.low | (bit < 64 ? 1 << UInt64(bit) : 0))
    return [low, try #require(IPPrefix(high, length: prefix.length + 1))]
  }

  @Test("an IPv4 address that is written as IPv6") func mapped() {
    #expect(IPAddress("::ffff:203.0.113.10")?.mapped == IPAddress("203.0.113.10"))
    for text in ["203.0.113.10", "::203.0.113.10", "2001:db8::ffff:203.0.113.10", "::"] {
      #expect(IPAddress(text)?.mapped == nil, "\(text)")
    }
  }
}
