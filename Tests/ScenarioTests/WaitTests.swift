import Testing

@Suite("`up --wait` and `down --wait`", .needsLab)
struct WaitTests {
  @Test("wait with a duration and without one, before the name and after it, and their status tells the result")
  func wait() throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).play("Wait/wait")
    #expect(
      seen.lines == [
        "[down corp --wait: disconnected]", "[up --wait corp: connected]", "[down --wait=20s corp: disconnected]",
        "[up --wait 20 corp: connected]", "[not within a second]", "Error: Unexpected argument 'soon'",
      ])
  }
}
