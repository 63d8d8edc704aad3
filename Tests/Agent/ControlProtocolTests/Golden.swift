import ControlProtocol
import JSON
import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit

/// Fixed values of every document: each member has a value in one of them.
enum Golden {
  static let noon = Timestamp(milliseconds: 1_795_348_987_412)
  static let rule = RuleReport(index: 2, name: "abroad", file: "/etc/roamward/policies/10-corp.yaml", line: 22)

  static let firewall = FirewallStatus(
    situation: .portal, guards: ["corp"], blocking: ["corp"], until: noon + .seconds(300), programs: "/user.slice/portal.scope",
    signIn: "corp", sites: ["203.0.113.90:443"], reason: "hotel", lifetime: .time)

  static let corp: StatusReport.Tunnel = {
    var corp = corpWithoutNetwork
    corp.mtu = 1420
    corp.addresses = ["10.77.0.2/32", "2001:db8:77::2/128"]
    corp.routes = ["10.77.0.0/16"]
    corp.routeCount = 1
    corp.nameServers = ["10.77.0.1"]
    corp.domains = ["corp.example"]
    return corp
  }()

  private static let corpWithoutNetwork = StatusReport.Tunnel(
    name: "corp", state: "reasserting", since: noon - .milliseconds(61_250), isEnabled: true, decision: .connect, rule: rule,
    reason: "the peer has not answered for 22 s", code: .peerSilent, override: "up", overrideSince: noon - .seconds(600),
    overrideEnds: "for a time", overrideUntil: noon + .seconds(1200), overrideReason: "printer", overrideLifetime: .time, isWanted: true,
    table: 21_000,
    timers: [.init(what: "restart", at: noon + .milliseconds(4500)), .init(what: "override-end", at: noon + .seconds(1200))], link: "corp",
    engine: "kernel", endpoint: "203.0.113.10:51820", lastHandshake: Timestamp(seconds: 1_795_348_900), receivedBytes: 15, sentBytes: 16,
    failure: "gateway 203.0.113.10:51820 did not answer within 15 s", failureCode: .peerTimeout,
    notes: [RemarkReport(.dnsLimited, of: "corp", "its name servers are not applied: Link corp is managed.")],
    outside: [.init(prefix: "192.0.2.0/24", reason: "the machine is attached to it")], peerSilenceMilliseconds: 22_250)

  static let lookup = NameLookup(
    tunnel: "lab", name: "box.lab.example", asker: .init(user: 1000, controlGroup: "/user.slice/app-firefox.scope"))

  static let lab: StatusReport.Tunnel = {
    var lab = StatusReport.Tunnel(
      name: "lab", state: "disconnected", since: noon - .seconds(86_400), isEnabled: false, decision: .disconnect, rule: nil,
      reason: "disabled by its policy", code: .disabled)
    lab.lookup = .init(lookup)
    lab.provider = .init(RunningProvider(definition: "7c3f9a2e51b0d846", stop: "asks systemd to stop lab.service"))
    lab.usage = .init(processes: 2, memoryBytes: 9_700_000, processorMilliseconds: 160)
    var brought = BroughtSettings()
    brought.addresses = [InterfaceAddress("10.9.0.2/24")].compactMap(\.self)
    brought.included = [IPPrefix("10.0.0.0/8")].compactMap(\.self)
    brought.excluded = [IPPrefix("10.99.0.0/16")].compactMap(\.self)
    brought.mtu = .fixed(1380)
    brought.dns = DNSPolicy(
      servers: [IPAddress("10.9.0.1")].compactMap(\.self), searchDomains: [DomainName("lab.example")].compactMap(\.self),
      matchDomains: [DomainPattern("lab.example")].compactMap(\.self))
    brought.gateways = [IPAddress("203.0.113.10")].compactMap(\.self)
    lab.brought = .init(brought)
    lab.transport = "by TCP to the relay 203.0.113.10:443, because 203.0.113.10:51820 does not answer by UDP"
    let name = DomainName("git.corp.example")
    var names = RoutePolicy()
    (names.includeDomains, names.excludeDomains) = ([name].compactMap { $0 }, ["video.example"].compactMap { DomainName($0) })
    var routes = RoutesByName()
    let address = IPAddress(v4: 0xcb00_7107)
    if let name { _ = routes.take(address, of: name, .include, in: "lab", for: .seconds(60), at: Moment(nanoseconds: 0)) }
    _ = routes.share(address, with: "www.other.example")
    lab.byName = NamedRoutesReport(
      names, addresses: (routes.entries["lab"] ?? [:]).map { .init($0.key, $0.value, until: noon + .seconds(300)) }, count: 1, evicted: 2,
      refused: "127.0.0.9 of git.corp.example gets no route, because it is of this machine")
    lab.questions = [
      .init(number: 7, kind: "url", prompt: "Sign in to lab", url: "https://login.example/start", until: noon + .seconds(300))
    ]
    return lab
  }()

  static let guardedProgram = StatusReport.Guard(
    process: 4712, program: "openvpn", since: noon - .seconds(5), endpoints: ["203.0.113.10:1194"], link: "tun0", links: ["tun0"],
    lastLinkBefore: 3, group: .init(number: 8423, level: 4), usage: .init(processes: 1, memoryBytes: 9_700_000, processorMilliseconds: 160))

  static let resolver = {
    var resolver = StatusReport.Resolver(
      backend: "systemd-resolved", reason: "resolv.conf leads to it", splits: true,
      candidates: [.init(backend: "systemd-resolved", isChosen: true, reason: "resolv.conf leads to it")],
      refused: ["intranet.example"])
    let withheld = WithheldAnswers(count: 3, name: "nas.home.example", address: IPAddress(v4: 0x0a4d_0002))
    resolver.withheld = [.init(withheld, of: "corp", at: noon - .seconds(12))]
    return resolver
  }()

  static let status = {
    var status = statusWithoutOthers
    status.programs = [
      ProgramReport(
        group: "/user.slice/user-1000.slice/session-3.scope/roamward-4026531840-through-1", tunnel: "corp", link: "corp",
        mark: "0x52c00001", user: 1000, usage: .init(processes: 1, memoryBytes: 9_700_000, processorMilliseconds: 160),
        cgroup: .init(number: 8424, level: 4))
    ]
    status.endedPrograms = [EndedProgramsReport(tunnel: "lab", mark: "0x52c00002", until: noon + .seconds(120))]
    status.groups = [
      GroupReport(
        name: "work",
        members: [
          .init(tunnel: "lab", role: .standby, state: "disconnected", triedAgain: noon + .seconds(40)),
          .init(tunnel: "corp", role: .inUse, state: "connected"),
        ])
    ]
    var rules = ProxyRules(http: ProxyServer("10.77.0.80:3128"), https: ProxyServer("https://proxy.corp.example"))
    rules.exclude = [.prefix(Sample.prefix("10.77.0.0/16"))]
    let published = ProxyPublication(.rules(rules, tunnel: "corp"), for: [.environment, .chromium])
    var observed = ObservedProxies()
    observed.publish(published)
    status.proxies = ProxiesReport(published, observed)
    return status
  }()

  private static let statusWithoutOthers = StatusReport(
    time: noon, process: 4711,
    policy: .init(
      generation: 3, files: 2,
      problems: [.init(file: "/etc/roamward/policies/20-lab.yaml", line: 5, column: 9, severity: "error", message: "unknown key `mut`")],
      replacedFiles: [.init(file: "/etc/roamward/policies/20-lab.yaml", line: 5, since: Timestamp(seconds: 1_795_000_000))],
      trialUntil: noon + .seconds(60)),
    primary: .init(link: "wlan0", type: "wifi", ssid: "Cafe", network: .init(v4: "c0ffee", v6: "beef")), firewall: firewall,
    tunnels: [corp, lab], guards: [guardedProgram],
    probes: [
      .init(
        name: "https://beacon.corp.example/", answer: "ok", reason: "answered 200", answeredAt: noon - .milliseconds(1500),
        nextAt: noon + .seconds(30), isWanted: true)
    ],
    notes: [RemarkReport(.conflict, "the rule \"999: from all lookup 21000\" is not Roamward's")],
    others: ["wireguard wg-home: 10.7.0.0/16"],
    counters: .init(events: 1, overflows: 2, observations: 3, evaluations: 4, plans: 5, steps: 6, repairs: 7, polls: 8),
    resolver: resolver,
    lastWake: .init(reason: "network-event", tunnel: nil, at: noon - .milliseconds(7)),
    nextWake: .init(reason: "sample", tunnel: "corp", at: noon + .seconds(6)))

  static let statusWithoutAgent = StatusWithoutAgent(
    time: noon, firewall: .init(situation: .guarded, code: .trafficBlocked, guards: ["corp", "lab"], blocking: ["corp"]))

  static let events: [EventReport] =
    ([
      .decision(
        tunnel: "corp", outcome: "connect", rule: 2, name: "abroad", code: .ruleMatched, reason: "ssid is \"Cafe\""),
      .lookup(lookup),
      .nameRoute(
        tunnel: "corp", name: Sample.domain("git.corp.example"), .include,
        [Sample.address("203.0.113.7"), Sample.address("2001:db8::7")]),
      .nameRoute(tunnel: "lab", name: Sample.domain("video.example"), .exclude, [Sample.address("203.0.113.9")]),
      .providerLog(tunnel: "lab", level: "warning", origin: "handshake", text: "the server's clock is 3 minutes late"),
      .provider(tunnel: "lab", name: "peer-joined", ["name": "alpha"]),
      .question(tunnel: "lab", number: 7, kind: "code", prompt: "One-time code for alice"),
      .state(tunnel: "corp", from: "disconnected", to: "connecting", code: .ruleMatched, reason: "rule 2 \"abroad\": ssid is \"Cafe\""),
      .failure(tunnel: "corp", TunnelFailure(.peerTimeout, "the peer did not answer within 15 s")),
      .override(tunnel: "corp", OverrideRequest(wantsUp: false, until: .seconds(1800), reason: "printer"), isSaid: true),
      .override(tunnel: "corp", nil, isSaid: false), .timer(tunnel: "corp", "retry", at: noon + .milliseconds(2500), inMilliseconds: 2500),
      .timer(tunnel: "corp", "release", at: nil, inMilliseconds: nil), .network(link: "wlan0", type: "wifi", ssid: "Cafe"),
      .network(link: nil, type: nil, ssid: nil), .policy(generation: 3, errors: 0, warnings: 1),
      .policy(generation: 3, errors: 2, warnings: 0),
      .firewall(firewall), .repair(tunnel: "corp", reason: .linkChanged, count: 2), .repair(tunnel: nil, reason: .rulesChanged, count: 1),
      .warning(Remark(.dnsLimited, of: "corp", "its name servers are not applied")), .snapshot(Sample.network(Sample.wifi("Cafe")).json),
    ] as [Event.Kind]).map { Event(time: noon, kind: $0).report }

  static let evaluation: EvaluationReport = {
    var pending = Decision(tunnel: "corp", outcome: .pending)
    let reference = RuleReference(
      index: 2, name: "abroad", location: SourceLocation(file: "/etc/roamward/policies/10-corp.yaml", line: 22, column: 5))
    pending.rule = reference
    pending.trace = [
      RuleTrace(rule: reference, action: .connect, holds: .unknown, finding: .key("ssid", .unknown, found: "ssid is not known yet"))
    ]
    pending.pending = Pending(decideWithin: .milliseconds(5000), then: .connect, rule: reference)
    pending.inert = .excluded(by: "lab")
    return EvaluationReport(
      decisions: [DecisionReport(pending), DecisionReport(Decision(tunnel: "lab", outcome: .ignore))],
      hosts: [HostReport(tunnel: "corp", host: "intranet.example", action: "none", reason: "no connection rule matches intranet.example")],
      network: Sample.network(Sample.wifi("Cafe")).json)
  }()

  static let plan: PlanReport = {
    var plan = planWithoutRest
    plan.later = [.init(what: "ip route add 192.168.99.0/24 dev lab0 table 21501", undo: "ip route delete 192.168.99.0/24 table 21501")]
    return plan
  }()

  private static let planWithoutRest = PlanReport(
    steps: [.init(what: "ip link add corp type wireguard", undo: "ip link delete corp"), .init(what: "ip link delete old", undo: nil)],
    actions: [.init(tunnel: "lab", isStart: true, what: "asks systemd to start lab.service; what that changes is not known here")],
    routes: [
      RouteReport(
        tunnel: "corp", what: "10.1.0.0/16 via 192.0.2.66 dev wlan0 (DHCP)", goes: "inside", reason: "corp's table is asked first")
    ],
    others: ["wireguard wg-home: 10.7.0.0/16"],
    notes: [RemarkReport(.manualOverride, of: "corp", "manual override: up; `roamward resume corp` ends it")], resolver: "systemd-resolved")

  static let state = StateReport(
    agent: .init(process: 4711),
    objects: [
      .init(
        kind: "route", what: "default dev corp table 21000", purpose: "into the tunnel", tunnel: "corp", reason: "rule 2 \"abroad\"",
        code: .ruleMatched, since: noon, rule: rule),
      .init(kind: "file", what: "/run/roamward/control.sock", purpose: "the agent's socket", tunnel: nil),
    ])

  static let list = ListReport(files: [
    .init(path: "/etc/roamward/policies/10-corp.yaml", state: "in-force", tunnels: ["corp"], networks: ["home"]),
    .init(path: "/usr/lib/roamward/policies/10-corp.yaml", state: "masked", maskedBy: "/etc/roamward/policies/10-corp.yaml"),
    .init(path: "/etc/roamward/policies/20-lab.yaml", state: "broken", errors: ["line 3: unknown key \"tunels\""]),
    .init(path: "/etc/roamward/policies/90-none.yaml", state: "mask"),
  ])

  static let doctor = DoctorReport(
    findings: [
      .init(check: "rp-filter", severity: "problem", message: "rp_filter drops answers", cure: "sysctl -w net.ipv4.conf.all.rp_filter=2"),
      .init(check: "clock", severity: "hint", message: "the clock is not set", cure: nil),
    ], passed: ["the kernel has WireGuard"])
}
