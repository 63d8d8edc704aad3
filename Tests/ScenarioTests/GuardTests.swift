import Glibc
import Testing

@Suite(
  "A guard of OpenVPN", .needsLab, .enabled(if: access("/usr/sbin/openvpn", X_OK) == 0, "openvpn is not installed (scripts/setup --vm)"),
  .marksSockets)
struct GuardedOpenVPNTests {
  @Test("lets nothing of another program leave: before its link, with it, while agent and program are killed, then until a release")
  func life() throws {
    let scene = try Scene([:], words: ["leaks.bash", "guard.bash"])
    try scene.play("openvpn-office")
    let seen = try scene.play("Guard/life")
    #expect(
      seen.lines == [
        "[seen]", "guard: sh (process N) for T", "  link:    none yet; all other traffic is blocked",
        "  outside: its own packets, to 203.0.113.10:1194", "  uses: U", "[without a link: 0 of many outside]", "[[\"tun0\"] dev tun 1]",
        "[connected: 0 of many outside]", "[0% packet loss]", "[marked]", "[agent killed: 0 of many outside]", "[reached without an agent]",
        "[resumed 1]", "[agent started: 0 of many outside]", "[program killed: 0 of many outside]",
        "[held: 0 of many outside]", "sh (guard N) has ended", "[open]", "[nothing left]", "0",
      ])
  }
}

@Suite("A guard", .needsLab, .marksSockets)
struct GuardTests {
  private func scene(_ policies: [String: String] = [:]) throws -> Scene { try Scene(policies, words: ["leaks.bash", "guard.bash"]) }

  @Test("is its program: standard input, exit status, signals; it ends what the program leaves, and leaves nothing")
  func program() throws {
    let seen = try scene().play("Guard/program")
    #expect(
      seen.lines.filter { $0 != "[open too early]" } == [
        "hello an  argument", "[0]", "[nothing left]", "[0 ended]", "[nothing left]", "[0]", "[nothing left]", "0",
      ])
  }

  @Test("stays closed when its program is killed or fails, says so, and opens when a person ends it", arguments: ["KILL", "SEGV", "code"])
  func failures(end: String) throws {
    let seen = try scene().play("Guard/failures", with: ["END": end])
    let (words, code) =
      switch end {
      case "KILL": ("was ended by signal 9; the kill switch stays closed", 137)
      case "SEGV": ("was ended by signal 11; the kill switch stays closed", 139)
      default: ("has failed with code 3; the kill switch stays closed", 3)
      }
    #expect(seen.lines == [words, "1", "[1 closed]", "[\(code)]", "[nothing left]", "0"], "\(seen)")
  }

  @Test(
    "stays closed when `roamward guard` itself is killed, alone, with its program or with the agent, until a release",
    arguments: ["guard", "both", "agent", "agent-first"])
  func killed(what: String) throws {
    let seen = try scene().play("Guard/killed", with: ["WHAT": what])
    #expect(
      seen.lines.filter { !$0.contains("Killed") } == [
        "[killed: 0 of many outside]", "guard: sh (process N) was killed T ago",
        "  all traffic is blocked; `roamward release` ends the guard",
        "1", "[still closed]", "[back: 0 of many outside]", "sh (guard N) has ended", "[open, nothing left]", "0",
      ], "\(seen)")
  }

  @Test("opens at the next start if a person ended it while no agent ran") func endsWithoutAgent() throws {
    let seen = try scene().play("Guard/ends-without-agent")
    #expect(seen.lines.filter { !$0.contains("Killed") } == ["[closed]", "[143]", "[nothing left]", "0"], "\(seen)")
  }

  @Test("lets its program reach its endpoints alone, of both families, and no other program reach these")
  func endpoints() throws {
    let seen = try scene().play("Guard/endpoints")
    // www.example is 203.0.113.80 and 2001:db8::80.
    #expect(
      seen.lines == [
        "10", "[]", "[\"203.0.113.80:53\",\"203.0.113.80:7777\",\"2001:db8::80\",\"[2001:db8::80]:53\"]",
        "2001:db8::80 tcp 7777,2001:db8::80 udp 7777,203.0.113.80 tcp 7777,203.0.113.80 udp 7777,",
      ])
  }

  @Test("takes the link that is named, if it is a tunnel; else those that appear; a packet may take any, also beside a tunnel")
  func links() throws {
    let seen = try scene(["corp.yaml": guarded]).play("Guard/links")
    #expect(
      seen.lines == [
        "[[]]", "[tun7 0]", "[[\"vpn0\"]]", "[tun7 0 vpn0 1]", "[inside]", "[[\"vpn0\"],[]]", "[\"guarded\",3,1]",
        "[[\"vpn0\"],[\"tun8\"]]", "[[\"vpn0\"]]", "[[]]", "0",
      ])
  }

  @Test("ends with the agent, the program first; cleanup ends it too; and a plan, a diff and `state` know it") func ends() throws {
    let seen = try scene().play("Guard/ends")
    #expect(
      seen.lines == [
        "roamward: no tunnels are defined in POLICIES", "nothing to do: the system is in the desired state",
        "note: sh (guard N) blocks all traffic outside of its link, but for its own to every address", "[no drift]",
        "the programs of a guard (3)", "records a guard, so that it goes on after a crash of the agent",
        "says that a guard has not ended as a person wanted: without its process, it stays closed",
        "[closed until then: packets 0]", "[nothing left]", "[ended]", "[after cleanup: 0 of many outside]", "0", "[open]", "0",
      ])
  }

  @Test("holds wherever the agent is killed: the program is protected as long as it runs, and nothing is left after the next start")
  func killedAnywhere() throws {
    let scene = try scene()
    let seen = try scene.play("Guard/killed-anywhere")
    #expect(seen.lines.filter { !$0.contains("Killed") } == ["0", "[successors killed: 0 of many outside]", "0", "[killed everywhere]"])
    print("a guard's agent killed: \(scene.read("told"))")
  }

  @Test("works with the capabilities that the unit leaves the agent, for a program that has all") func ofUnit() throws {
    let seen = try scene().play("Guard/of-unit")
    #expect(seen.lines == ["[few]", "[linked]", "[up: 0 of many outside]", "[nothing left]", "[all ended]", "0"])
  }

  @Test("is refused where it could not hold, before anything is blocked") func refused() throws {
    let seen = try scene().play("Guard/refused")
    #expect(
      seen.lines == [
        "roamward: no-such-program is not found; nothing was blocked",
        "roamward: passwd is no program that can be executed; nothing was blocked",
        "roamward: wlan0 cannot be the program's link: it is no link of a tunnel, or one of ours; leave it out, or name another",
        "roamward: \"203.0.113.10/24\" is no endpoint; write an address or a name, with or without a port: 203.0.113.10:1194, [2001:db8::1]:1194",
        "roamward: the endpoint no-such-name.example cannot be resolved: X; write its address",
        "roamward: the program would run in another network or process namespace than the agent, where its kill switch has no effect",
        "roamward: only root and the agent's own user may do this; you are user 65534",
        "roamward: the kill switch is suspended, and so would be the guard; `roamward resume` ends the suspension",
        "would cut the SSH session", "[nothing left]", "0",
      ])
  }
}
