import Testing

@Suite("`up --wait` and `down --wait`", .needsLab)
struct WaitTests {
  @Test("wait with a duration and without one, before the name and after it, and their status tells the result")
  func wait() throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      for words in "down corp --wait" "up --wait corp" "down --wait=20s corp" "up --wait 20 corp"; do
        roamward $words >/dev/null
        say "$words: $(field corp state)"
      done
      roamward down corp --wait >/dev/null
      ip -n internet link set gateway down
      roamward up corp --wait 1s >/dev/null 2>&1 || say "not within a second"
      roamward up corp --wait soon >"$scene/said" 2>&1 || head -n 1 "$scene/said"
      """)
    #expect(
      seen.lines == [
        "[down corp --wait: disconnected]", "[up --wait corp: connected]", "[down --wait=20s corp: disconnected]",
        "[up --wait 20 corp: connected]", "[not within a second]", "Error: Unexpected argument 'soon'",
      ])
  }
}
