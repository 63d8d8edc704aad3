import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Control groups in memory, and what was done to them.
private final class Groups {
  var log: [String] = []
  var found: [ProgramGroup] = []
  var saved: [[ProgramGroup]] = []
  var failure: String?
  /// The handlers that wait for the end of the programs in a group, by its number.
  var ended: [UInt64: () -> Void] = [:]
  private var next: UInt64 = 100
  private var numbers: [String: UInt64] = [:]

  var platform: ProgramPlatform {
    ProgramPlatform(
      namespace: 7, found: { [self] in found }, path: { process, route in "/s/\(process)/roamward-7-\(route.tunnel ?? "outside")" },
      make: { [self] program throws(PlatformError) in
        if let failure { throw PlatformError(failure) }
        log.append("make \(program.path) 0x\(String(program.route.mark, radix: 16))")
        var made = program
        let number = numbers[program.path] ?? next
        if numbers[program.path] == nil { next += 1 }
        numbers[program.path] = number
        made.group = ProviderGroup(number: number, level: 3)
        return made
      },
      admit: { [self] process, startTime, program throws(PlatformError) in
        if startTime != 5 { throw PlatformError("another process") }
        log.append("admit \(process)")
      },
      watch: { [self] in ended[$0.group.number] = $1 },
      remove: { [self] in
        log.append("remove \($0.path)")
        numbers[$0.path] = nil
      }, release: { [self] in log.append("release \($0.path)") },
      follow: { [self] in follow = ($0, $1) }, left: { [self] _ in left }, save: { [self] in saved.append($0) },
      usage: { [self] _ in isInUse ? ProgramUsage(processes: 1, memory: 0, processorTime: .zero) : nil })
  }

  var follow: (wanted: [ProgramGroup], changed: ProgramPlatform.Follower)?
  var isInUse = false
  var left: Int32?
}

@Suite("Programs with a route of their own") struct ProgramLaunchTests {
  private let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))

  private func life(_ groups: Groups, _ change: (inout TunnelPolicy) -> Void = { _ in }) -> WatchedAgent {
    var policy = Sample.tunnel(rules: [Sample.rule(.always, .connect)])
    change(&policy)
    let life = WatchedAgent(policy, on: cafe)
    life.programs = groups.platform
    return life
  }

  private func run(
    _ life: WatchedAgent, _ tunnel: String?, process: Int32 = 4711, path: String? = nil, namespace: Int64 = 7, start: UInt64? = 5
  )
    -> Result<RunReply, RequestError>
  {
    Result { () throws(RequestError) in
      try ProgramLaunch(life.agent).begin(
        RunRequest(program: "curl", tunnel: tunnel, path: path, namespace: namespace), process: process, startTime: start, user: 1000)
    }
  }

  private func message(_ result: Result<RunReply, RequestError>) -> String {
    if case .failure(let error) = result { error.message } else { "" }
  }

  private func rules(_ life: WatchedAgent) -> [UInt32] { life.machine.state.observed.kernel.ownRules.map(\.mark).sorted() }

  @Test("rules and firewall are in force before the process is in its group, and until nothing is in it") func order() throws {
    let groups = Groups()
    let life = life(groups)
    life.start()
    life.machine.run(for: .seconds(2))
    life.machine.whenApplied = { step in
      if "\(step)".hasPrefix("nft table") { groups.log.append("table") }
      if "\(step)".contains("fwmark 0x52c00001") { groups.log.append("rule") }
    }
    let reply = try run(life, "corp").get()
    #expect(reply.group == "/s/4711/roamward-7-corp" && reply.link == "corp")
    #expect(groups.log.first == "make /s/4711/roamward-7-corp 0x52c00001" && groups.log.last == "admit 4711", "\(groups.log)")
    #expect(groups.log.contains("table") && groups.log.contains("rule"))
    #expect(life.status.programs.map(\.tunnel) == ["corp"] && life.status.programs.map(\.mark) == ["0x52c00001"])
    // It is on disk before it is made, without a number.
    #expect(groups.saved.first?.map(\.group.number) == [0] && groups.saved.last?.map(\.group.number) == [100])
    // A second one in another place has the same class.
    _ = try run(life, "corp", process: 5000).get()
    #expect(life.status.programs.map(\.mark) == ["0x52c00001", "0x52c00001"])
    groups.ended[100]?()
    groups.ended[101]?()
    life.machine.run(for: .seconds(1))
    #expect(life.status.programs.isEmpty && groups.saved.last == [])
    // The kernel still sends for their sockets.
    life.machine.run(for: .seconds(170))
    #expect(rules(life).contains(0x52c0_0001), "\(rules(life))")
    life.machine.run(for: .seconds(20))
    #expect(!rules(life).contains(0x52c0_0001), "\(rules(life))")
  }

  @Test("a second launch that is refused takes nothing from programs that run") func second() throws {
    let groups = Groups()
    let life = life(groups)
    life.start()
    life.machine.run(for: .seconds(2))
    _ = try run(life, "corp").get()
    groups.isInUse = true
    // Another program has removed their rule, and this machine cannot repair it now.
    life.machine.state.apply(life.machine.state.observed.kernel.ownRules.filter { $0.mark == 0x52c0_0001 }.map { .removeRule($0) })
    life.machine.failingSteps = { "\($0)".contains("fwmark 0x52c00001") ? "refused" : nil }
    #expect(message(run(life, "corp")).contains("no rule leads them into corp"))
    #expect(life.status.programs.map(\.tunnel) == ["corp"] && !groups.log.contains { $0.hasPrefix("remove") })
    life.machine.failingSteps = { _ in nil }
    life.machine.run(for: .seconds(10))
    #expect(rules(life).contains(0x52c0_0001))
  }

  @Test("a program that leaves its group by itself is reported, and a group that cannot be marked") func reported() throws {
    let groups = Groups()
    let life = life(groups) { $0.apps = AppsPolicy(include: [.unit("a.service")]) }
    life.start()
    life.machine.run(for: .seconds(2))
    _ = try run(life, "corp").get()
    groups.left = 4711
    groups.ended[100]?()
    let said = life.events.compactMap { if case .warning(let remark) = $0 { remark.text } else { nil } }
    #expect(said.contains { $0.contains("process 4711 has left its control group") }, "\(said)")
    let named = try #require(groups.follow?.wanted.first)
    groups.follow?.changed([], [], [named: "no BPF"])
    life.machine.run(for: .seconds(1))
    #expect(life.status.notes.contains { $0.text.contains("/system.slice/a.service cannot be marked") && $0.text.hasSuffix(": no BPF") })
    groups.follow?.changed([], [], [:])
    #expect(!life.status.notes.contains { $0.text.contains("cannot be marked") })
  }

  @Test("what cannot be kept on its route does not start, and says why") func refused() throws {
    let groups = Groups()
    let life = life(groups) { $0.onDemand = OnDemand(rules: [Sample.rule(.always, .disconnect)]) }
    life.start()
    life.machine.run(for: .seconds(2))
    #expect(message(run(life, "corp")) == "corp is not connected; connect it first, or have `roamward run --up` do it")
    #expect(message(run(life, "none")) == "no tunnel is named \"none\"; known: corp")
    #expect(message(run(life, nil, namespace: 8)).contains("another network or process namespace"))
    #expect(message(run(life, nil, start: nil)).contains("another network or process namespace"))
    #expect(message(run(life, nil, path: "/usr/bin/curl")).hasPrefix("no policy names /usr/bin/curl in `apps`"))
    #expect(groups.log.isEmpty && groups.saved.isEmpty)
    #expect(message(run(life, nil, start: 6)) == "the program cannot enter its control group: another process")
    #expect(groups.log.last == "remove /s/4711/roamward-7-outside" && groups.saved.last == [] && life.status.programs.isEmpty)
    groups.failure = "no BPF"
    #expect(message(run(life, nil)).contains("cannot be marked: no BPF") && groups.saved.last == [])
  }

  @Test("those of a killed agent go on, and stay blocked while their tunnel is down; a stop lets them go") func resumed() throws {
    let groups = Groups()
    let left = ProgramGroup(
      path: "/s/roamward-7-through-4", group: ProviderGroup(number: 9, level: 2), route: .through("corp", number: 4), user: 1000)
    groups.found = [left]
    let life = life(groups) { $0.onDemand = OnDemand(rules: [Sample.rule(.always, .disconnect)]) }
    life.start()
    life.machine.run(for: .seconds(2))
    #expect(rules(life) == [0x5280_0000, 0x5280_0000] && life.status.programs.map(\.link) == [nil])
    #expect(life.machine.state.observed.firewall.isGuarding)
    life.agent.stop {}
    life.machine.run(for: .seconds(6))
    #expect(groups.log == ["release /s/roamward-7-through-4"] && groups.saved.last == [] && rules(life).isEmpty)
  }

  @Test("groups that a policy names have its route while they exist; a file is for `roamward run`") func named() throws {
    let groups = Groups()
    let life = life(groups) { $0.apps = AppsPolicy(include: [.unit("a.service"), .program("/usr/bin/curl")]) }
    life.start()
    life.machine.run(for: .seconds(2))
    var named = try #require(groups.follow?.wanted.first)
    #expect(named.path == "/system.slice/a.service" && named.route == .through("corp", number: 1) && life.status.programs.isEmpty)
    named.group = ProviderGroup(number: 44, level: 2)
    groups.follow?.changed([named], [named.path], [:])
    life.machine.run(for: .seconds(1))
    #expect(life.status.programs.map(\.group) == ["/system.slice/a.service"] && rules(life).contains(0x52c0_0001))
    #expect(life.status.notes.contains { $0.text.contains("run already: sockets that they have open keep their route") })
    #expect(try run(life, nil, path: "/usr/bin/curl").get().link == "corp")
    groups.follow?.changed([], [], [:])
    life.machine.run(for: .seconds(1))
    #expect(life.status.programs.map(\.group) == ["/s/4711/roamward-7-corp"])
  }

  @Test("a program outside needs the right to suspend where there is a kill switch") func rights() {
    let outside = Request.run(RunRequest(program: "a", tunnel: nil, namespace: 7))
    let through = Request.run(RunRequest(program: "a", tunnel: "corp", namespace: 7))
    for (request, hasKillSwitch, right) in [
      (outside, true, Right.suspend), (outside, false, .override), (through, true, .override), (through, false, .override),
    ] {
      #expect(request.right(opensKillSwitch: { _, _ in true }, hasKillSwitch: hasKillSwitch) == right)
    }
    #expect(throws: RequestError.self) { try Request(Request.run(RunRequest(program: "", tunnel: nil, namespace: 7)).json) }
  }
}
