import Lives
import Testing

@Suite("The token of an attempt") struct LifeTokenTests {
  @Test("a token equals itself and its copies, and no other one, as long as any of them is there") func identity() {
    let tokens = (0..<1000).map { _ in LifeToken() }
    let copies = tokens
    #expect(copies == tokens && Set(tokens).count == tokens.count)
    #expect(Set(tokens + copies).count == tokens.count)
    for (before, after) in zip(tokens, tokens.dropFirst()) { #expect(before != after) }
  }
}
