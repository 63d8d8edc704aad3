import Glibc
import Testing

@Suite("An installed provider", .needsLab)
struct InstalledProviderScenes {
  private func scene() throws -> Scene {
    let scene = try Scene([:], words: ["providers.bash"])
    try scene.play("InstalledProvider/set-up")
    return scene
  }

  @Test("connects without privileges, carries packets, answers messages, and leaves nothing")
  func life() throws {
    let seen = try scene().play("InstalledProvider/life")
    #expect(
      seen.lines == [
        "{\"connected\":false,\"dropped\":0}", "[dev plain]",
        "[Uid: 1901244935 1901244935 1901244935 1901244935 Groups: 65534 CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 "
          + "CapAmb: 0000000000000000 NoNewPrivs: 1 ]",
        "PATH", "{\"connected\":true,\"dropped\":0}", "roamward: this provider knows `statistics` (unknown-type)", "[status 1]",
        "[plain-udp.py 1.0 1]", "[ended]", "0",
      ])
  }

  @Test("a program that ends before its `hello` is told at once, and started again after pauses; a message is answered with the reason")
  func noHello() throws {
    let seen = try scene().play("InstalledProvider/no-hello")
    #expect(seen.lines == ["ended with code 3 before its `hello`", "[1]", "[1]", "[told]", "0"], "\(seen)")
  }

  @Test("tells what fails: no server, a kill of its program; and connects again by itself")
  func failures() throws {
    let seen = try scene().play("InstalledProvider/failures")
    #expect(
      seen.lines == [
        "the provider of plain ended by itself; see its log (provider-ended)",
        "the server has not answered for 15 s (peer-timeout)", "[ended with its agent]", "0",
      ])
  }

  @Test("with a kill switch: nothing of others leaves while it starts, roams and is killed")
  func killSwitch() throws {
    let seen = try scene().play("InstalledProvider/kill-switch")
    #expect(seen.lines == ["[detected]", "[0 outside]", "0"])
  }

  @Test(
    "of one tunnel cannot read, trace or stop that of another, whether their user is shared or of their own",
    arguments: [("nobody", "another user, memory no, environment no, signal no"), ("daemon", "the same user, memory no, environment no")])
  func separate(user: String, result: String) throws {
    let seen = try scene().play("InstalledProvider/separate", with: ["ACCOUNT": user])
    #expect(seen.lines.first?.hasPrefix(result) ?? false, "\(seen)")
    #expect(seen.lines.dropFirst().first == "the same user, memory yes, environment yes, signal yes", "\(seen)")
  }

}
