import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// Programs whose packets have a route of their own: their rules, routes and firewall.
@Suite struct ProgramRouteTests {
  private let cafe = UnderlayFit(Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24")))

  private func group(_ route: ProgramRoute, number: UInt64 = 99, path: String = "/s/roamward-1-x") -> ProgramGroup {
    ProgramGroup(path: path, group: ProviderGroup(number: number, level: 2), route: route, user: 1000)
  }

  private func tunnel(_ name: String = "corp", level: TunnelMachine.Level = .full, slot: UInt32 = 500, guarding: Bool = false)
    -> TunnelSetup
  {
    var policy = Sample.tunnel(name, rules: [Sample.rule(.always, .connect)])
    policy.routes = RoutePolicy(include: [.everything(.v4), .everything(.v6)])
    return TunnelSetup(policy: policy, level: level, slot: slot, link: name, device: .foreign, isGuarding: guarding)
  }

  private func chain(_ name: String, of table: FirewallTable) -> [String] {
    let text = table.transaction.components(between: "chain \(name) {", and: "  }\n") ?? ""
    return text.split(separator: "\n").map { String($0.drop { $0 == " " }) }
  }

  private func table(_ desired: DesiredState) throws -> FirewallTable {
    guard case .table(let table) = desired.firewall else { throw Missing() }
    return table
  }

  private struct Missing: Error {}

  @Test("through a tunnel: a rule for their mark leads into its link, and the last rule makes them unreachable") func through() throws {
    let programs = [group(.through("corp", number: 1))]
    let desired = DesiredState(of: [tunnel()], on: cafe, programs: programs)
    let rules = desired.rules.filter { $0.family == .v4 }.map(\.description)
    #expect(rules.contains("priority 22500 fwmark 0x52c00001/0xffffffff lookup 22500 protocol 82"))
    #expect(rules.contains("priority 23000 fwmark 0x52800000/0xff800000 lookup 23000 protocol 82"))
    let routes = desired.routes.map(\.description)
    #expect(routes.contains("default dev corp table 22500 proto 82") && routes.contains("unreachable default table 23000 proto 82"))
    // The tunnels' own rules leave out every mark under this mask, so a program of one tunnel is not taken by another one.
    #expect(Ownership.programMark(1) & Ownership.markMask == Ownership.mark)
    #expect(Ownership.programMark(0xffff) & Ownership.wayMask == Ownership.innerMark(of: nil))
    #expect((0..<Ownership.slots).allSatisfy { Ownership.innerMark(of: $0) & Ownership.programMask != Ownership.programMark(0) })
  }

  @Test(
    "units are in the control groups into which systemd puts them",
    arguments: [
      ("a.service", "/system.slice/a.service"), ("a.scope", "/system.slice/a.scope"), ("a-b.slice", "/a.slice/a-b.slice"),
      ("syncthing@alice.service", "/system.slice/system-syncthing.slice/syncthing@alice.service"),
      ("a-b@c-d.service", "/system.slice/system-a\\x2db.slice/a-b@c-d.service"),
      ("a\\x2db@c.service", "/system.slice/system-a\\x5cx2db.slice/a\\x2db@c.service"),
    ])
  func units(_ name: String, _ path: String) { #expect(App(name)?.group == path) }

  @Test("a unit whose name begins like our groups is none of them") func made() {
    for (path, isMade) in [
      ("/s/roamward-4026531840-through-1", true), ("/s/roamward-7-outside", true), ("/system.slice/roamward-gateway.service", false),
      ("/system.slice/roamward-lock.service", false), ("/s/roamward", false), ("/s/roamward-", false),
    ] { #expect(group(.outside, path: path).isMade == isMade, "\(path)") }
  }

  @Test("a guard blocks programs outside too, where the kernel's WireGuard sends with the tunnels' mark") func guarded() throws {
    var kernel = tunnel()
    kernel.device = .xfrm(identifier: 7)
    let guarded = GuardSetup(
      guarded: ProgramGuard(process: 7, program: "openvpn", since: .distantFuture, group: ProviderGroup(number: 5, level: 1)))
    let with = try table(DesiredState(of: [kernel], on: cafe, guards: [guarded], programs: [group(.outside)]))
    #expect(chain("marked", of: with).contains("meta mark & 0xffc00000 == 0x52000000 meta l4proto udp accept"))
    #expect(Ownership.outsideMark & Ownership.programMask != Ownership.mark && Ownership.outsideMark & Ownership.wayMask == Ownership.mark)
    let without = try table(DesiredState(of: [kernel], on: cafe, guards: [guarded]))
    #expect(chain("marked", of: without).contains("meta l4proto udp accept"))
  }

  @Test("while the tunnel is down, or its policy is gone, all of their packets are blocked, and no others") func down() throws {
    for tunnels in [[tunnel(level: .nothing)], []] {
      let desired = DesiredState(of: tunnels, on: cafe, programs: [group(.through("corp", number: 1))])
      #expect(desired.rules.map(\.priority) == [23000, 23000])
      let table = try table(desired)
      #expect(table.guards.isEmpty && !table.isOpen)
      let rules = [
        "oifname \"lo\" accept", "meta mark & 0xffc00000 != 0x52c00000 accept", "counter drop",
      ]
      #expect(chain("programs_leaving", of: table) == ["type filter hook postrouting priority filter; policy accept;"] + rules)
      #expect(chain("programs", of: table).last == "counter reject with icmpx admin-prohibited")
      #expect(chain("output", of: table).isEmpty && chain("programs_names", of: table).isEmpty)
    }
  }

  @Test("up, they leave by its link alone, and ask its name servers") func up() throws {
    var corp = tunnel()
    corp.policy.dns = DNSPolicy(servers: [Sample.address("10.77.0.1")])
    let table = try table(DesiredState(of: [corp], on: cafe, programs: [group(.through("corp", number: 3))]))
    #expect(chain("programs_leaving", of: table).contains("meta mark 0x52c00003 oifname \"corp\" accept"))
    let question = "oifname != \"lo\" meta nfproto"
    #expect(
      chain("programs_names", of: table).dropFirst() == [
        "meta mark 0x52c00003 \(question) ipv4 meta l4proto { tcp, udp } th dport 53 dnat ip to 10.77.0.1",
        "meta mark 0x52c00003 \(question) ipv6 meta l4proto { tcp, udp } th dport 53 drop",
      ])
  }

  @Test("outside, their group passes a kill switch, but not a guard; without either nothing is blocked") func outside() throws {
    let programs = [group(.outside)]
    let guarded = DesiredState(of: [tunnel(guarding: true)], on: cafe, programs: programs)
    #expect(chain("marked", of: try table(guarded)).first == "socket cgroupv2 level 2 \"number 99\" accept")
    let guardOfProgram = GuardSetup(
      guarded: ProgramGuard(process: 1, program: "openvpn", since: .distantFuture, group: ProviderGroup(number: 7, level: 3)))
    let beside = DesiredState(of: [], on: cafe, guards: [guardOfProgram], programs: programs)
    #expect(!chain("marked", of: try table(beside)).contains { $0.contains("number 99") })
    #expect(try table(DesiredState(of: [tunnel()], on: cafe, programs: programs)).isOpen)
  }

  @Test("without programs nothing differs by a byte") func none() {
    let tunnels = [tunnel(guarding: true), tunnel("lab", slot: 501)]
    let (before, after) = (DesiredState(of: tunnels, on: cafe), DesiredState(of: tunnels, on: cafe, programs: []))
    #expect(before == after && !before.rules.contains { $0.priority == Ownership.lostTable })
  }

  @Test("a class keeps its number as long as a program of it runs, and a free one is taken again") func numbers() {
    var programs = [group(.through("a", number: 1)), group(.outside), group(.through("b", number: 2))]
    #expect(programs.number(of: "a") == 1 && programs.number(of: "b") == 2 && programs.number(of: "c") == 3)
    programs.removeFirst()
    #expect(programs.number(of: "c") == 1 && programs.number(of: "b") == 2)
  }

  @Test("policies name units, groups and files; the first tunnel that names one has it") func named() throws {
    func apps(_ texts: [String]) throws -> [App] { try texts.map { try #require(App($0)) } }
    var corp = Sample.tunnel("corp", rules: []), lab = Sample.tunnel("lab", rules: []), off = Sample.tunnel("off", rules: [])
    corp.apps = AppsPolicy(include: try apps(["transmission.service", "work-lab.slice", "/usr/bin/firefox"]))
    lab.apps = AppsPolicy(exclude: try apps(["transmission.service", "cgroup:/machine.slice//x.scope", "/usr/bin/steam"]))
    off.apps = AppsPolicy(include: try apps(["other.service"]))
    off.isEnabled = false
    let set = PolicySet(tunnels: [corp, lab, off])
    let groups = set.programGroups(beside: [group(.through("old", number: 1))])
    #expect(
      groups.map(\.path) == [
        "/system.slice/transmission.service", "/work.slice/work-lab.slice", "/machine.slice/x.scope",
      ])
    #expect(groups.map(\.route) == [.through("corp", number: 2), .through("corp", number: 2), .outside])
    #expect(groups.allSatisfy { !$0.isMade } && group(.outside).isMade)
    #expect(set.route(of: .program("/usr/bin/firefox")) == .some("corp") && set.route(of: .program("/usr/bin/steam")) == .some(nil))
    #expect(set.route(of: .program("/usr/bin/vi")) == nil && set.route(of: .unit("other.service")) == nil)
  }

  @Test("into a tunnel for some programs alone no route of the machine leads, and no name of it goes there") func alone() throws {
    var setup = tunnel(guarding: true)
    setup.policy.apps = AppsPolicy(include: [.unit("transmission.service")])
    setup.policy.dns = DNSPolicy(servers: [Sample.address("10.77.0.1")])
    let desired = DesiredState(of: [setup], on: cafe, programs: [group(.through("corp", number: 1))])
    #expect(!desired.routes.contains { $0.table == setup.table } && !desired.rules.contains { $0.priority == setup.table })
    #expect(desired.fate(of: Sample.address("203.0.113.80")) == .outside && setup.policy.dnsInForce == DNSPolicy())
    #expect(try table(desired).programs == [ProgramClass(mark: 0x52c0_0001, link: "corp", servers: [Sample.address("10.77.0.1")])])
  }
}
