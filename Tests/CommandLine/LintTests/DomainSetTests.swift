import NetworkTypes
import SeededRandom
import TestKit
import Testing

@Suite struct DomainSetTests {
  @Test(
    "a name is in the set with any name above it, by whole labels",
    arguments: [
      ("example.com", true), ("www.example.com", true), ("a.b.example.com", true), ("notexample.com", false), ("com", false),
      ("example.com.org", false), ("Example.COM.", true), ("lan", true), ("nas.lan", true), ("plan", false), ("e", false),
    ])
  func wholeLabels(name: String, isThere: Bool) {
    #expect(DomainSet([Sample.domain("example.com"), Sample.domain("lan")]).contains(Sample.domain(name)) == isThere)
  }

  @Test("an empty set holds nothing, a name twice counts once") func small() {
    #expect(!DomainSet([DomainName]()).contains(Sample.domain("example")))
    #expect(DomainSet([Sample.domain("a"), Sample.domain("A.")]).count == 1)
  }

  @Test("it says what asking every domain says", arguments: 0..<10) func naive(seed: Int) {
    var generator = SplitMix64(seed: UInt64(seed))
    func name() -> DomainName {
      let labels = (0..<Int.random(in: 1...5, using: &generator)).map { _ in
        String(
          (0..<Int.random(in: 1...2, using: &generator)).map { _ in ["a", "b", "c"].randomElement(using: &generator) ?? "a" }.joined())
      }
      return Sample.domain(labels.joined(separator: "."))
    }
    let domains = (0..<Int.random(in: 0...400, using: &generator)).map { _ in name() }
    let set = DomainSet(domains)
    #expect(set.count == Set(domains).count)
    for _ in 0..<2000 {
      let asked = name()
      #expect(set.contains(asked) == domains.contains(where: asked.isWithin), "\(asked)")
    }
  }

  @Test("a policy's list, short or long, says the same; * holds every name", arguments: [0, 1, 7, 8, 50]) func list(count: Int) {
    let names = (0..<count).map { Sample.domain("a\($0).example") }
    let list = DomainList(names.map { .within($0) })
    for i in 0..<60 { #expect(list.holds(Sample.domain("www.a\(i).example")) == (i < count)) }
    #expect(!list.holds(Sample.domain("example")))
    #expect(Array(list) == names.map { .within($0) } && list == DomainList(Array(list)))
    #expect(DomainList(Array(list) + [.any]).holds(Sample.domain("example")))
  }
}
