import Testing

@Suite("A tunnel of commands", .needsLab)
struct CommandTests {
  /// Its program notes each call in `calls`, makes the link vpn0, and is connected once the file `answer` is there.
  private func scene(more: String = "", timeout: String = "5s") throws -> Scene {
    let scene = try Scene([:])
    let note =
      "echo \"$1 $ROAMWARD_TUNNEL $ROAMWARD_ACTION $(env | cut -d = -f 1 | grep -vE '^(PWD|SHLVL|_|OLDPWD)$' | sort | tr '\\n' ' ')\" >>calls"
    try CommandTunnel(first: note + "\n" + more, status: "test -e answer", timeout: timeout).write(in: scene)
    return scene
  }

  @Test("is brought up, asked until it answers, routed, and taken down, with nothing but its name and action told")
  func life() throws {
    let scene = try scene()
    let seen = try scene.play("Command/life")
    #expect(seen.lines == ["[connecting dev wlan0]", "[dev vpn0]", "0"])
    let calls = scene.read("calls").lines
    let asked = calls.filter { $0.hasPrefix("status") }
    #expect(asked.count >= 3 && asked.count < 40)
    #expect(calls.filter { !$0.hasPrefix("status") }.map { $0.split(separator: " ")[0] } == ["up", "down", "up", "down"])
    #expect(calls.allSatisfy { $0.hasSuffix(" PATH ROAMWARD_ACTION ROAMWARD_TUNNEL ") })
    #expect(calls[0].hasPrefix("up vpn up "))
  }

  @Test("has no program that others could have written: check says so, the agent refuses it, and takes it once that is mended")
  func untrusted() throws {
    let scene = try scene()
    let seen = try scene.play("Command/untrusted")
    #expect(seen.lines == ["1", "[not run]", "0", "there is no program", "is not executable"])
  }

  @Test("makes files that others may read, whatever the agent's own umask is")
  func umask() throws {
    let seen = try scene(more: "[[ $1 != up ]] || touch made answer").play("Command/umask")
    #expect(seen.lines == ["644", "0"])
  }

  @Test("that fails says with which words, waits longer each time, and comes up once it can")
  func failure() throws {
    // The times are the program's own: a busy machine may see the first start late.
    let scene = try scene(
      more: "[[ $1 != up ]] || echo ${EPOCHREALTIME/./} >>ups\n"
        + "if [[ $1 == up && ! -e good ]]; then echo one; echo 'no licence left' >&2; exit 7; fi; touch answer")
    let seen = try scene.play("Command/failure")
    // Each that has begun is ended.
    #expect(seen.lines.prefix(2) == ["[patient]", "[3 3 connecting]"])
    #expect(seen.contains("ended with status 7: one / no licence left"))
    #expect(seen.lines.last == "[null]")
  }

  @Test("that a killed agent has left gets its down, before anything else and once")
  func owed() throws {
    let scene = try scene(more: "touch answer")
    try scene.play("Command/owed")
    let calls = scene.read("calls").lines.map { String($0.split(separator: " ")[0]) }.filter { $0 != "status" }
    #expect(calls == ["up", "down", "up", "down"])
  }

  @Test("whose program hangs is ended with all that it has started")
  func timeout() throws {
    // It says by itself that it hangs: the scene may look when it has been ended already.
    let scene = try scene(
      more: "if [[ $1 == up ]]; then trap '' TERM; sleep 600 & kill -0 $! && echo $! >child; wait; sleep 600; fi", timeout: "1s")
    let seen = try scene.play("Command/timeout")
    #expect(seen.lines.prefix(2) == ["[it hangs]", "[it is gone]"])
    #expect(seen.contains("took too long and was ended"))
  }

  @Test("takes another program in its policy by going down with the old one and up with the new")
  func changedPolicy() throws {
    let scene = try scene(more: "touch answer")
    let seen = try scene.play("Command/changed-policy")
    #expect(seen == "[down up]")
  }

  @Test("whose down hangs holds the agent's end up, until a second signal")
  func secondSignal() throws {
    let scene = try scene(more: "touch answer; if [[ $1 == down && ! -e tired ]]; then sleep 60; fi", timeout: "30s")
    let seen = try scene.play("Command/second-signal")
    #expect(seen.lines == ["[waits]", "[1]"])
  }
}
