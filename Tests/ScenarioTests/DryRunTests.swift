import Glibc
import Testing

@Suite("A dry run", .needsLab)
struct DryRunTests {
  private static let hasStrace = access("/usr/bin/strace", X_OK) == 0

  @Test(
    "changes nothing: it sends the kernel questions alone and opens no file for writing", .enabled(if: hasStrace, "strace is not installed")
  )
  func writesNothing() throws {
    let scene = try Scene()
    try scene.play("DryRun/writes-nothing")
    #expect(scene.read("touched") == "")
    for command in ["evaluate", "plan", "dns", "network", "check", "plan-up"] {
      let calls = scene.read("\(command).trace").lines
      #expect(calls.contains { $0.contains("openat(") }, "\(command) is traced")
      let written = calls.filter { call in
        ["O_WRONLY", "O_RDWR", "O_CREAT", "rename", "unlink", "mkdir", "truncate", "chmod", "chown"].contains { call.contains($0) }
      }
      #expect(written == [], "\(command)")
      let sent = calls.filter { $0.contains("sendmsg(") || $0.contains("sendto(") }
      #expect(sent.filter { $0.contains("RTM_NEW") || $0.contains("RTM_DEL") || $0.contains("RTM_SET") } == [], "\(command)")
      // `check` too, where a policy names its gateway by an address: it must not be one of this machine's.
      #expect(sent.contains { $0.contains("RTM_GET") }, "\(command)")
      #expect(calls.filter { $0.contains("set=1") } == [], "\(command)")
    }
    // A change does appear in such a trace.
    try scene.play("DryRun/writes-nothing-2")
    #expect(scene.read("agent.trace").contains("RTM_NEWROUTE"))
  }

  @Test("tells the outcome by its status and in JSON, without an agent and as an unprivileged user")
  func evaluates() throws {
    let scene = try Scene()
    let seen = try scene.play("DryRun/evaluates")
    #expect(
      seen.lines == [
        "[10]", "[11]", "[12]", "[10]", "[2]", "[2]", "[2]", "[1]", #"[1,"corp","connect",2,10,null,2]"#, #"[1,"no","array"]"#,
        #"[2,"yes","array"]"#, #"["action","carries","code","inert","pending","reason","rule","trace","tunnel"]"#,
      ])
  }

  @Test("decides on a saved network as on the network itself, and as the agent does", arguments: ["home", "cafe", "mobile"])
  func savedNetwork(_ place: String) throws {
    let scene = try Scene()
    let action = place == "home" ? "disconnect" : "connect"
    let seen = try scene.play("DryRun/saved-network", with: ["PLACE": place, "ACTION": action])
    let lines = seen.lines
    let expected = ["home": #"["disconnect",1"#, "cafe": #"["connect",2"#, "mobile": #"["connect",3"#]
    let decision = try #require(expected[place])
    #expect(lines[0].hasPrefix(decision + ","))
    #expect(lines[1] == lines[0])
    #expect(lines[2] == decision + "]")
  }

  @Test("plans what a run then does: with the plan carried out, nothing is left to do")
  func planIsDone() throws {
    let scene = try Scene()
    let seen = try scene.play("DryRun/plan-is-done")
    let nothing = "nothing to do: the system is in the desired state"
    #expect(seen.lines == ["1", nothing, nothing])
  }
}
