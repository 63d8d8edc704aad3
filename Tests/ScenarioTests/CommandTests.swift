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
    let seen = try scene.run(
      """
      go cafe
      remember
      SECRET=1 start_agent
      within 3 grep -q '^status' calls
      say "$(field vpn state) $(way_to 10.99.1.1)"
      touch answer
      tunnel_is vpn connected
      say "$(way_to 10.99.1.1)"
      go home
      tunnel_is vpn disconnected
      go cafe
      tunnel_is vpn connected
      stop_agent
      as_before
      """)
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
    let seen = try scene.run(
      """
      touch answer
      chmod 777 vpn
      roamward check policies 2>&1 | grep -c 'would refuse .*/vpn: it can be written by everyone'
      go cafe
      start_agent
      within 5 eval 'roamward status | found "vpn cannot be used: it can be written by everyone"'
      [[ ! -s calls ]] && say 'not run'
      chmod 755 vpn
      cp policies/vpn.yaml again && mv again policies/vpn.yaml
      within 5 eval 'roamward status | found "^vpn: "'
      tunnel_is vpn connected
      stop_agent
      mv vpn aside
      roamward check policies 2>&1 | grep -o 'there is no program' | sort -u
      mv aside vpn
      chmod 644 vpn
      roamward check policies 2>&1 | grep -o 'is not executable' | sort -u
      """)
    #expect(seen.lines == ["1", "[not run]", "0", "there is no program", "is not executable"])
  }

  @Test("makes files that others may read, whatever the agent's own umask is")
  func umask() throws {
    let seen = try scene(more: "[[ $1 != up ]] || touch made answer").run(
      """
      go cafe
      umask 077
      start_agent
      umask 022
      tunnel_is vpn connected
      stat -c %a made
      stop_agent
      """)
    #expect(seen.lines == ["644", "0"])
  }

  @Test("that fails says with which words, waits longer each time, and comes up once it can")
  func failure() throws {
    // The times are the program's own: a busy machine may see the first start late.
    let scene = try scene(
      more: "[[ $1 != up ]] || echo ${EPOCHREALTIME/./} >>ups\n"
        + "if [[ $1 == up && ! -e good ]]; then echo one; echo 'no licence left' >&2; exit 7; fi; touch answer")
    let seen = try scene.run(
      """
      go cafe
      start_agent
      within 2 grep -q '^up' calls
      within 5 eval '(( $(grep -c "^down" calls) >= 3 ))'
      # At 0, 1 and 3 seconds at the earliest.
      (($(sed -n 3p ups) - $(sed -n 1p ups) > 2500000)) && say patient
      say "$(grep -c '^up' calls) $(grep -c '^down' calls) $(field vpn state)"
      roamward status | grep failure
      touch good
      tunnel_is vpn connected
      say "$(field vpn failure)"
      """)
    // Each that has begun is ended.
    #expect(seen.lines.prefix(2) == ["[patient]", "[3 3 connecting]"])
    #expect(seen.contains("ended with status 7: one / no licence left"))
    #expect(seen.lines.last == "[null]")
  }

  @Test("that a killed agent has left gets its down, before anything else and once")
  func owed() throws {
    let scene = try scene(more: "touch answer")
    try scene.run(
      """
      go cafe
      remember
      start_agent
      tunnel_is vpn connected
      kill_agent
      ip link show vpn0 >/dev/null
      start_agent
      within 3 field_is vpn state connected
      kill_agent
      rm $policies/vpn.yaml
      start_agent
      within 3 as_before
      stop_agent
      """)
    let calls = scene.read("calls").lines.map { String($0.split(separator: " ")[0]) }.filter { $0 != "status" }
    #expect(calls == ["up", "down", "up", "down"])
  }

  @Test("whose program hangs is ended with all that it has started")
  func timeout() throws {
    // It says by itself that it hangs: the scene may look when it has been ended already.
    let scene = try scene(
      more: "if [[ $1 == up ]]; then trap '' TERM; sleep 600 & kill -0 $! && echo $! >child; wait; sleep 600; fi", timeout: "1s")
    let seen = try scene.run(
      """
      go cafe
      start_agent
      within 3 test -s child && say "it hangs"
      child=$(<child)
      within 6 grep -q '^down' calls
      runs $child || say "it is gone"
      roamward status | grep failure
      """)
    #expect(seen.lines.prefix(2) == ["[it hangs]", "[it is gone]"])
    #expect(seen.contains("took too long and was ended"))
  }

  @Test("takes another program in its policy by going down with the old one and up with the new")
  func changedPolicy() throws {
    let scene = try scene(more: "touch answer")
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is vpn connected
      sed 's/>>calls/>>calls2/' vpn >vpn2 && chmod 755 vpn2
      sed -i "s|$scene/vpn\\"|$scene/vpn2\\"|g" $policies/vpn.yaml
      within 4 grep -q '^up' calls2
      tunnel_is vpn connected
      say "$(tail -n 1 calls | cut -d ' ' -f 1) $(head -n 1 calls2 | cut -d ' ' -f 1)"
      """)
    #expect(seen == "[down up]")
  }

  @Test("whose down hangs holds the agent's end up, until a second signal")
  func secondSignal() throws {
    let scene = try scene(more: "touch answer; if [[ $1 == down && ! -e tired ]]; then sleep 60; fi", timeout: "30s")
    let seen = try scene.run(
      """
      go cafe
      remember
      start_agent
      tunnel_is vpn connected
      kill -TERM $(agent_pid)
      within 2 grep -q '^down' calls
      sleep 0.5
      [[ -s agent.exit ]] || say waits
      kill -TERM $(agent_pid)
      within 2 test -s agent.exit
      say "$(<agent.exit)"
      touch tired
      cleanup_agent
      as_before
      """)
    #expect(seen.lines == ["[waits]", "[1]"])
  }
}
