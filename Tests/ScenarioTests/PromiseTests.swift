import Testing

@Suite("A promise of time in a scene", .needsLab)
struct PromiseTests {
  @Test("is measured, and fails only where times are asserted") func measured() throws {
    let scene = try Scene()
    let said = try scene.play("Promise/measured").lines
    #expect(said.prefix(2) == ["[kept]", "[in time]"])
    let numbers = said.last?.split { !$0.isNumber }.compactMap { Int($0) } ?? []
    #expect(said.count == 3 && said[2].hasPrefix("promised within 1 s, took ") && numbers.count > 1 && numbers[1] >= 1200, "\(said)")
    let records = scene.read("promises").lines.map { $0.split(separator: "\t").map(String.init) }
    #expect(records.map { $0[0] } == ["1", "60", "1"])
    #expect(records.allSatisfy { $0.suffix(2) == ["measured", "later"] })
    #expect(records.allSatisfy { Int($0[1]).map { $0 >= 1200 } ?? false })
  }
}
