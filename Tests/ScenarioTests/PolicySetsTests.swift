import Testing

@Suite("A command that changes the policies", .needsLab)
struct PolicySetsTests {
  @Test("makes one new set of them, though the folder tells of the files later") func once() throws {
    let seen = try Scene().play("PolicySets/once")
    #expect(seen.lines == ["[trust: 1]", "[apply: 1]", "[3 told]", "0"], "\(seen)")
  }
}
