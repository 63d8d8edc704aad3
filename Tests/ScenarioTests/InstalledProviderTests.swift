import Glibc
import Testing

@Suite("An installed provider", .needsLab)
struct InstalledProviderTests {
  private func scene() throws -> Scene {
    let scene = try Scene([:], words: ["providers.bash"])
    try scene.run("install_plain")
    return scene
  }

  @Test("connects without privileges, carries packets, tells what it is, and leaves nothing")
  func life() throws {
    let seen = try scene().run(
      """
      go cafe
      start_server
      remember
      plain_policy </dev/null
      start_agent
      roamward up plain >/dev/null
      within 10 field_is plain state connected
      within 5 plain_answers
      say "$(way_to 10.98.0.1)"
      process=$(pgrep -f "$scene/providers/plain-udp" | head -n 1)
      say "$(grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs):' "/proc/$process/status" | tr -s '\\t\\n' ' ')"
      say "$(ls "/proc/$process/fd" | wc -l)"
      roamward down plain >/dev/null
      within 5 field_is plain state disconnected
      pgrep -f "$scene/providers/plain-udp" >/dev/null && say left
      stop_agent
      as_before
      """)
    #expect(seen.lines == ["[dev plain]", "[]", "[]", "0"], "\(seen)")
  }
}
