import Glibc
import LinuxIO
import NetworkTypes
import ProviderGroups
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing
import TunnelProviders

@Suite("The command provider")
struct CommandProviderTests {
  private func run(_ action: CommandProvider.Action, _ configuration: CommandProviderConfiguration) throws -> Result<Void, ProviderError> {
    try onLoop { loop, done in
      let provider = CommandProvider(on: loop)
      provider.run(action, tunnel: "work", configuration, then: done)
      return provider
    }
  }

  private func configuration(
    up: [String] = [], down: [String] = [], status: [String] = [], timeout: Duration = .seconds(10)
  ) -> CommandProviderConfiguration {
    CommandProviderConfiguration(up: up, down: down, status: status, timeout: timeout)
  }

  @Test("runs each action's own program, with the tunnel and the action in its environment and nothing else")
  func environment() throws {
    let line = "env | grep -v -e ^PATH= -e ^PWD= -e ^SHLVL= -e ^_= | sort; exit 1"
    let shell = ["/bin/sh", "-c", line]
    for (action, configuration) in [
      (CommandProvider.Action.up, configuration(up: shell)), (.down, configuration(down: shell)), (.status, configuration(status: shell)),
    ] {
      let failure = #expect(throws: ProviderError.self) { try run(action, configuration).get() }
      let name = action.rawValue
      #expect(failure?.message == "\(name): /bin/sh ended with status 1: ROAMWARD_ACTION=\(name) / ROAMWARD_TUNNEL=work")
    }
  }

  @Test(
    "root runs no program that others could have written: looked at again when it is to run",
    .enabled(if: geteuid() == 0, "root alone refuses them"), arguments: [CommandProvider.Action.up, .down, .status])
  func untrusted(action: CommandProvider.Action) throws {
    let folder = try shell("mktemp --directory").split(separator: "\n").joined()
    defer { _ = try? shell("rm -r '\(folder)'") }
    let program = "\(folder)/program"
    try makeProgram(program, "#!/bin/sh\ntouch '\(folder)/ran'\n")
    let configuration = configuration(up: [program], down: [program], status: [program])
    for (line, reason, cure) in [
      ("chmod 777 '\(program)'", "it can be written by everyone", "chmod go-w \(program)"),
      ("chmod 755 '\(program)'; chown 1000 '\(program)'", "it is not owned by root, but by uid 1000", "chown root \(program)"),
      ("chown 0 '\(program)'; chmod 777 '\(folder)'", "its folder \(folder) can be written by everyone", "chmod go-w \(folder)"),
    ] {
      try shell(line)
      let failure = #expect(throws: ProviderError.self) { try run(action, configuration).get() }
      #expect(failure?.message == "\(action.rawValue): \(program) is refused: \(reason)" && failure?.help == cure, "\(failure as Any)")
    }
    #expect(access("\(folder)/ran", F_OK) != 0)
    try shell("chmod 755 '\(folder)'")
    try run(action, configuration).get()
    #expect(access("\(folder)/ran", F_OK) == 0)
  }

  @Test(
    "up and down run in the tunnel's control group, status does not, and down ends what up has left there",
    .enabled(if: canMakeNamespaces && ProviderGroups.absence() == nil, "marking sockets needs root and CONFIG_CGROUP_BPF"))
  func group() throws {
    try inNamespaces {
      let groups = ProviderGroups(note: nil)
      defer {
        groups.tunnels.forEach(groups.end)
        #expect(groups.removeUnused())
      }
      func run(_ action: CommandProvider.Action, _ line: String) throws -> String? {
        let program = ["sh", "-c", "grep ^0:: /proc/self/cgroup; \(line)"]
        let settings = configuration(up: program, down: program, status: program)
        let result: Result<Void, ProviderError> = try onLoop { loop, done in
          let provider = CommandProvider(on: loop, groups: groups)
          provider.run(action, tunnel: "work", settings, then: done)
          return provider
        }
        if case .failure(let error) = result { return error.message }
        return nil
      }
      #expect(
        try run(.up, "setsid sleep 600 & setsid sh -c 'trap \"\" TERM; sleep 601; sleep 602' & exit 1")?.hasSuffix("/tunnel-work") == true)
      let group = try #require(groups.existingGroup(of: "work"))
      #expect(group.isPopulated)
      #expect(try run(.status, "exit 1")?.contains("tunnel-work") == false)
      #expect(group.isPopulated)
      #expect(try run(.down, "exit 1")?.hasSuffix("/tunnel-work") == true)
      #expect(!group.isPopulated && groups.tunnels == [])
    }
  }

  @Test("succeeds by status 0, and where there is no program")
  func success() throws {
    #expect(throws: Never.self) { try run(.up, configuration(up: ["true"])).get() }
    #expect(throws: Never.self) { try run(.status, configuration()).get() }
  }

  @Test("a failure tells the last that was written, without what would upset a terminal")
  func outputTail() throws {
    let line = "for i in 1 2 3 4; do echo line $i; done; printf 'bad \\033[31mred\\007\\n' >&2; exit 9"
    let failure = #expect(throws: ProviderError.self) { try run(.up, configuration(up: ["sh", "-c", line])).get() }
    #expect(failure?.description == "up: sh ended with status 9: line 3 / line 4 / bad [31mred")
    let much = "head -c 9999 /dev/zero | tr '\\0' x; exit 1"
    let long = #expect(throws: ProviderError.self) { try run(.up, configuration(up: ["sh", "-c", much])).get() }
    #expect((long?.description.count ?? 0) < 500)
  }

  @Test("a missing program and one that takes too long are told apart")
  func otherFailures() throws {
    let missing = #expect(throws: ProviderError.self) { try run(.up, configuration(up: ["/no/such/program"])).get() }
    #expect(missing?.description.contains("No such file") == true)
    let slow = #expect(throws: ProviderError.self) { try run(.up, configuration(up: ["sleep", "30"], timeout: .milliseconds(50))).get() }
    #expect(slow?.message == "up: sleep took too long and was ended")
  }

  @Test("killed, it calls nobody")
  func killed() throws {
    let _: Bool = try onLoop { loop, done in
      let provider = CommandProvider(on: loop)
      provider.run(.up, tunnel: "work", configuration(up: ["sleep", "30"])) { _ in Issue.record("called back") }
      provider.killAll()
      return (provider, try loop.at(.now + .milliseconds(100)) { done(true) })
    }
  }
}
