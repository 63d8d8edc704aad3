// swift-tools-version: 6.2
import PackageDescription

/// The targets by area (docs/architecture.md), lowest first: kind, name, uses, settings. A line that is indented further goes on.
let house = """
  C: module maps of C libraries, and shims for what Swift cannot import
    c CControlGroup CDatagrams CLinux CNftables CTextPages CWipingHeap CXFRM CTransportCipher CWireGuardIO CProviderIO CHashMemory
    system CAres +pkg=libcares +apt=libc-ares-dev
    c CConfinement +link=seccomp
    system CCrypto +pkg=libcrypto +apt=libssl-dev
    system CCurl +pkg=libcurl +apt=libcurl4-openssl-dev
    system CExpat +pkg=expat +apt=libexpat1-dev
    system CJansson +pkg=jansson +apt=libjansson-dev
    system CNetlink +pkg=libnl-genl-3.0 +apt=libnl-genl-3-dev
    system CSodium +pkg=libsodium +apt=libsodium-dev
    system CSystemd +pkg=libsystemd +apt=libsystemd-dev
    system CYAML +pkg=yaml-0.1 +apt=libyaml-dev
    system CBlake2 +apt=libb2-dev
    c CCipherLibraries: CTransportCipher
    c CWireGuardConfinement: CConfinement CWireGuardIO
    system CMicroHTTPD +pkg=libmicrohttpd +apt=libmicrohttpd-dev
    system CPAM +apt=libpam0g-dev
    system CPostgreSQL +pkg=libpq +apt=libpq-dev
    system CQREncode +pkg=libqrencode +apt=libqrencode-dev
    system CSQLite +pkg=sqlite3 +apt=libsqlite3-dev
    system CTLS +pkg=libssl +apt=libssl-dev
  Base: values that everything speaks of: addresses, JSON, keys, metrics
    pure NetworkTypes +fast
    pure HostFindings Lives Metrics
    pure JSON: CJansson NetworkTypes +tested
    pure PeerDetection: NetworkTypes
    rim KeyMemory: CSodium +fast
    tests LivesTests: Lives
    tests NetworkTypesTests: NetworkTypes SeededRandom
    tests JSONTests: JSON NetworkTypes SchemaCheck
    tests KeyMemoryTests: KeyMemory
  Linux: descriptors, processes, files, event loops, confinement
    pure WorkerLife: Lives NetworkTypes
    rim LinuxIO: CLinux NetworkTypes
    rim SystemdIO: CLinux CSystemd LinuxIO NetworkTypes
    rim ProcessConfinement: CConfinement LinuxIO
    rim ConfinedProcess: LinuxIO Lives NetworkTypes SystemdIO WorkerLife
    rim ClientLibraries: CCurl LinuxIO NetworkTypes
    rim ResolverLibrary: CAres LinuxIO NetworkTypes
    tests LinuxIOTests: CLinux CTextPages LinuxIO NetworkTypes TestSupport
    tests WorkerLifeTests: Lives NetworkTypes SeededRandom WorkerLife
    tests ConfinedProcessTests: ConfinedProcess LinuxIO SystemdIO SystemdTestSupport
    tests SystemdIOTests: CSystemd LinuxIO NetworkTypes SystemdIO SystemdTestSupport TestSupport
  Kernel: the kernel's network: its objects, their bytes, netlink
    pure KernelModel: KeyMemory NetworkTypes +fast
    pure Wire: KernelModel KeyMemory NetworkTypes +fast
    rim KernelNetwork: CNetlink CNftables KernelModel LinuxIO NetworkTypes Wire
    rim ProviderGroups: CControlGroup KernelModel LinuxIO
    tests KernelNetworkTests: KernelModel KernelNetwork KeyMemory LinuxIO NetworkTypes RoamwardCore SeededRandom TestSupport Wire
    tests WireTests: KernelModel KeyMemory NetworkTypes RoamwardCore SeededRandom TestKit Wire WireGuardControl
    tests ProviderGroupsTests: KernelModel LinuxIO NetworkTypes ProviderGroups SeededRandom TestSupport
  WireGuard: the engine: the protocol, its packets, its control
    pure WireGuardEngine: CBlake2 CSodium CTransportCipher KeyMemory NetworkTypes +fast +link=:libb2.a +unsafe
    rim WireGuardControl: CWireGuardIO LinuxIO NetworkTypes
    rim WireGuardDataPath: CCipherLibraries CSodium CTransportCipher CWireGuardConfinement CWireGuardIO KeyMemory LinuxIO NetworkTypes
        ProcessConfinement WireGuardControl WireGuardEngine +fast
    tests WireGuardControlTests: NetworkTypes WireGuardControl
    tests WireGuardDataPathTests: CConfined CFaultyCipher CTransportCipher CWireGuardIO KeyMemory LinuxIO NetworkTypes roamward-wireguard
        SeededRandom TestSupport WireGuardControl WireGuardDataPath WireGuardEngine +but=interoperation.bash
    tests WireGuardEngineTests: CCipherLibraries CSodium CTransportCipher KeyMemory NetworkTypes SeededRandom TestSupport WireGuardEngine
  Policy: policy files, and what they decide
    pure RoamwardCore: JSON KernelModel KeyMemory NetworkTypes PeerDetection +tested
    pure PolicySource: JSON KernelModel KeyMemory NetworkTypes PolicyFiles RoamwardCore YAMLEvents
    rim PolicyFiles
    rim YAMLEvents: CYAML
    tests RoamwardCoreTests: Doctor HostFindings KernelModel NetworkTypes PeerDetection RoamwardCore SeededRandom Simulation TestKit
    tests PolicySourceTests: JSON KernelModel KeyMemory LinuxIO NetworkTypes PolicyFiles PolicyLint PolicySource RoamwardCore SchemaCheck SeededRandom TestSupport
  Names: the name server, and its process
    pure NameServer: NetworkTypes +fast
    rim NameProtocol: JSON NameServer NetworkTypes
    rim NameWorker: CDatagrams CLinux CTextPages LinuxIO NameProtocol NameServer NetworkTypes ProcessConfinement +fast
    tests NameProtocolTests: NameProtocol NameServer NetworkTypes SeededRandom
    tests NameServerTests: NameServer NetworkTypes SeededRandom
    tests NameWorkerTests: CConfined LinuxIO NameProtocol NameServer NameWorker NetworkTypes ProcessConfinement roamward-names TestSupport
  Probes: answers of portals, beacons and name servers, and their process
    rim ProbeProtocol: JSON NetworkTypes
    rim ProbeWorker: CAres CCurl ClientLibraries LinuxIO NetworkTypes ProbeProtocol ProcessConfinement ResolverLibrary
    rim ProxyWorker: LinuxIO NetworkTypes ProbeProtocol ProcessConfinement
    tests ProbeProtocolTests: NetworkTypes ProbeProtocol SeededRandom
    tests ProbeWorkerTests: CConfined ConfinedProcess LinuxIO NetworkTypes ProbeProtocol ProbeWorker ProcessConfinement ProxyWorker roamward-probe roamward-proxy
  Flows: connections of programs that a proxy opens for them
    pure FlowProtocol: NetworkTypes
    rim FlowRelay: FlowProtocol KernelModel LinuxIO NetworkTypes ProcessConfinement ResolverLibrary
    tests FlowProtocolTests: FlowProtocol NetworkTypes SeededRandom
    tests FlowRelayTests: CConfined FlowRelay ProcessConfinement roamward-socks
  ProviderKit: for programs that are tunnels: protocol, library, an agent for their tests
    pure ProviderProtocol: JSON NetworkTypes
    rim RoamwardProvider: CLinux CProviderIO JSON LinuxIO NetworkTypes ProviderProtocol
    rim RoamwardProviderTesting: JSON NetworkTypes ProviderProtocol RoamwardProvider
    tests ProviderProtocolTests: JSON NetworkTypes ProviderProtocol SeededRandom
    tests RoamwardProviderTests: CTunDevice JSON LinuxIO NetworkTypes plain-udp PlainUDP ProviderProtocol RoamwardProvider RoamwardProviderTesting TestSupport
    tests ExampleProviderTests: BestVPN JSON NetworkTypes ProviderProtocol RoamwardProvider RoamwardProviderTesting SeededRandom SimpleTunnel SimpleTunnelHost
  Agent: the agent: tunnels, requests, records, on this machine or in memory
    pure ControlProtocol: JSON KernelModel NetworkTypes RoamwardCore
    pure FlightRecord: ControlProtocol JSON KeyMemory NetworkTypes RoamwardCore
    pure Doctor: HostFindings KernelModel NetworkTypes RoamwardCore
    rim AgentCore: ControlProtocol JSON KernelModel Lives NetworkTypes PeerDetection PolicySource ProviderProtocol RoamwardCore +tested
    rim AgentDaemon: AgentCore ControlProtocol CTextPages HostDNS HostProxies HostServices JSON KernelModel KernelNetwork LinuxAgent
        LinuxIO LinuxPlatform Logging NetworkTypes RoamwardCore SystemdIO
    rim LinuxAgent: AgentCore ControlProtocol HostDNS HostServices KernelModel KernelNetwork LinuxIO LinuxPlatform Logging NetworkTypes
        PolicySource ProviderGroups RoamwardCore SystemdIO TunnelProviders
    rim LinuxPlatform: AgentCore CLinux ControlProtocol Doctor FlightRecord HostDNS HostProbes HostProxies HostServices JSON KernelModel KernelNetwork
        KeyMemory LinuxIO NetworkTypes PolicyFiles PolicySource ProviderGroups ProviderProtocol RoamwardCore SystemdIO TunnelProviders
    rim HostDNS: CLinux ConfinedProcess KernelModel LinuxIO NameProtocol NameServer NetworkTypes RoamwardCore SystemdIO Wire WorkerLife
    rim HostProbes: CLinux ConfinedProcess KernelModel LinuxIO NetworkTypes ProbeProtocol RoamwardCore SystemdIO WorkerLife
    rim HostProxies: ConfinedProcess HostDNS KernelModel LinuxIO NetworkTypes ProbeProtocol SystemdIO WorkerLife
    rim HostServices: JSON KernelModel LinuxIO NetworkTypes RoamwardCore SystemdIO
    rim TunnelProviders: CLinux ConfinedProcess KernelModel LinuxIO NetworkTypes PolicyFiles ProviderGroups ProviderProtocol RoamwardCore
        SystemdIO Wire WireGuardControl WorkerLife
    rim Simulation: AgentCore ControlProtocol JSON KernelModel NetworkTypes PolicySource ProviderProtocol RoamwardCore +tested
    tests AgentTests: AgentCore AgentDaemon ControlProtocol Doctor FlightRecord History HostServices JSON KernelModel KeyMemory LinuxAgent
        LinuxIO LinuxPlatform Lives Logging NetworkTypes PolicySource ProviderProtocol RoamwardCore SeededRandom Simulation SystemdIO
        SystemdTestSupport TestKit TestSupport
    tests ControlProtocolTests: ControlProtocol JSON KernelModel LinuxIO NetworkTypes PolicySource RoamwardCore SchemaCheck SeededRandom TestKit +but=Golden
    tests HostDNSTests: CSystemd HostDNS KernelModel LinuxIO NetworkTypes RoamwardCore SeededRandom SystemdIO SystemdTestSupport TestSupport
    tests HostProbesTests: HostProbes HostProxies KernelModel LinuxIO NetworkTypes roamward-probe roamward-proxy RoamwardCore SystemdIO SystemdTestSupport TestSupport
    tests HostServicesTests: CSystemd HostServices KernelModel LinuxIO NetworkTypes RoamwardCore SystemdIO SystemdTestSupport TestSupport
    tests TunnelProvidersTests: CLinux CSodium KernelModel KeyMemory LinuxIO NetworkTypes ProviderGroups ProviderProtocol roamward-wireguard
        RoamwardCore SystemdIO SystemdTestSupport TestSupport TunnelProviders
  Gateway: the other end: devices, people, logins, the page; and its client
    pure GatewayCore: HostFindings KernelModel KeyMemory Metrics NetworkTypes
    pure GatewayLogin: GatewayCore Lives LoginProtocol NetworkTypes
    pure LoginProtocol: KernelModel NetworkTypes
    pure OpenIDConnect: GatewayLogin JSON LoginProtocol NetworkTypes
    pure PageProtocol: GatewayCore KernelModel LoginProtocol NetworkTypes
    pure GatewayPage: GatewayCore JSON KernelModel NetworkTypes PageProtocol PolicySource RoamwardCore
    pure GatewaySource: GatewayCore GatewayLogin JSON NetworkTypes PolicyFiles PolicySource RoamwardCore
    rim GatewayAuth: CLinux CSodium CTLS GatewayCore GatewayCredentials GatewayLogin LinuxIO LoginProtocol NetworkTypes ProcessConfinement
    rim GatewayCredentials: CCrypto CHashMemory CSodium NetworkTypes
    rim GatewayHost: ConfinedProcess CQREncode CSodium GatewayCore GatewayCredentials GatewayLogin GatewayPage GatewaySockets
        GatewaySource GatewayStore HostFindings JSON KernelModel KernelNetwork KeyMemory LinuxIO Lives LoginProtocol Metrics NetworkTypes
        PageProtocol PolicyFiles PolicySource SystemdIO TunnelProviders WorkerLife
    rim GatewayOpenID: CAres CCrypto CCurl ClientLibraries GatewayLogin JSON LinuxIO LoginProtocol NetworkTypes OpenIDConnect ProcessConfinement
        ResolverLibrary
    rim GatewayPAM: CPAM GatewayCore GatewayLogin LinuxIO LoginProtocol NetworkTypes ProcessConfinement
    rim GatewayPostgreSQL: CPostgreSQL GatewayCore GatewayStore LinuxIO NetworkTypes ProcessConfinement
    rim GatewaySockets: LinuxIO NetworkTypes
    rim GatewayStore: CSodium CSQLite GatewayCore KernelModel NetworkTypes
    rim GatewayWeb: CMicroHTTPD LinuxIO LoginProtocol NetworkTypes PageProtocol ProcessConfinement +embed=Files/page.html,Files/page.css,Files/page.js
    rim ClientProvider: CSodium CTLS JSON KeyMemory LinuxIO Lives LoginProtocol NameServer NetworkTypes PeerDetection ProcessConfinement
        ProviderProtocol RoamwardProvider WireGuardControl
    tests GatewayAuthTests: CConfined ClientProvider GatewayAuth GatewayOpenID GatewayPAM GatewayPostgreSQL GatewayWeb ProcessConfinement
    tests GatewayCoreTests: GatewayCore GatewayLogin HostFindings JSON KernelModel KeyMemory LinuxIO Metrics MetricUses NetworkTypes
        SeededRandom TestKit TestSupport +but=Alerts
    tests GatewayLoginTests: GatewayCore GatewayCredentials GatewayLogin Lives LoginProtocol NetworkTypes SeededRandom TestKit
    tests GatewayPageTests: GatewayCore GatewayPage JSON KernelModel LinuxIO LoginProtocol NetworkTypes PageProtocol roamward-gateway-web
        SchemaCheck SeededRandom TestKit TestSupport
    tests GatewaySourceTests: GatewayCore GatewayLogin GatewaySource JSON LinuxIO NetworkTypes PolicySource SchemaCheck SeededRandom
    tests GatewayServeTests: GatewayCore GatewayHost GatewayPage GatewaySource JSON KernelModel KernelNetwork LinuxIO LoginProtocol MetricUses
        NetworkTypes ProviderGroups roamward-gateway roamward-gateway-auth roamward-gateway-oidc roamward-gateway-pam roamward-gateway-store
        roamward-gateway-web roamward-wireguard SchemaCheck SeededRandom TestKit TestSupport +but=Scenes
    tests GatewayStoreTests: GatewayCore GatewayHost GatewayPostgreSQL GatewaySource GatewayStore KernelModel LinuxIO NetworkTypes roamward-gateway-store SeededRandom TestKit TestSupport
    tests OpenIDConnectTests: GatewayCore GatewayLogin GatewayOpenID JSON LinuxIO LoginProtocol NetworkTypes OpenIDConnect
        roamward-gateway-oidc SeededRandom TestKit TestSupport +but=issuer.py
    tests ClientProviderTests: ClientProvider GatewayAuth GatewayCredentials JSON KeyMemory Lives LoginProtocol NetworkTypes ProviderProtocol RoamwardProvider RoamwardProviderTesting SeededRandom
  Providers: tunnels of other programs
    pure OpenVPNLanguage VICI
    pure ProviderLife: Lives ProviderProtocol
    rim NebulaProvider: CLinux JSON LinuxIO Lives NetworkTypes ProgramProvider ProviderLife ProviderProtocol RoamwardProvider YAMLEvents
    rim OpenConnectProvider: CLinux JSON LinuxIO Lives NetworkTypes ProgramProvider ProviderCertificates ProviderLife ProviderProtocol RoamwardProvider
    rim OpenVPNProvider: CLinux JSON LinuxIO Lives NetworkTypes OpenVPNLanguage ProgramProvider ProviderCertificates ProviderLife
        ProviderProtocol RoamwardProvider
    rim ProgramProvider: Lives ProviderLife ProviderProtocol RoamwardProvider
    rim ProviderCertificates: CCrypto NetworkTypes ProviderProtocol
    rim StrongSwanProvider: CCrypto CLinux CXFRM JSON LinuxIO Lives NetworkTypes ProgramProvider ProviderCertificates ProviderLife
        ProviderProtocol RoamwardProvider VICI
    tests NebulaProviderTests: JSON LinuxIO NebulaProvider NetworkTypes ProviderProtocol RoamwardProvider RoamwardProviderTesting SeededRandom TestSupport
    tests OpenConnectProviderTests: JSON NetworkTypes OpenConnectProvider ProviderProtocol RoamwardProvider RoamwardProviderTesting SeededRandom
    tests OpenVPNProviderTests: JSON NetworkTypes OpenVPNProvider ProviderProtocol RoamwardProvider RoamwardProviderTesting SeededRandom
    tests ProviderLifeTests: Lives ProviderLife ProviderProtocol SeededRandom
    tests StrongSwanProviderTests: JSON NetworkTypes ProviderCertificates ProviderProtocol RoamwardProvider RoamwardProviderTesting SeededRandom StrongSwanProvider VICI
    tests VICITests: SeededRandom VICI
  CommandLine: what only commands need
    pure BugReport: JSON NetworkTypes RoamwardCore YAMLEvents
    pure History: ControlProtocol FlightRecord JSON NetworkTypes PolicySource RoamwardCore
    pure PolicyAuthoring: JSON NetworkTypes PolicyFiles PolicySource RoamwardCore
    pure PolicyImport: JSON KernelModel NetworkTypes OpenVPNLanguage PolicyFiles PolicySource RoamwardCore SignedMessages XMLEvents
    pure PolicyLint: KernelModel NetworkTypes RoamwardCore
    pure StatusDisplay: ControlProtocol JSON KernelModel Metrics NetworkTypes RoamwardCore
    rim ControlClient: ControlProtocol JSON LinuxIO NetworkTypes
    rim SignedMessages: CCrypto
    rim Terminal: ArgumentParser NetworkTypes PolicySource
    rim XMLEvents: CExpat
    tests BugReportTests: BugReport JSON LinuxIO SeededRandom
    tests LintTests: NetworkTypes PolicyLint RoamwardCore SeededRandom TestKit
    tests PolicyAuthoringTests: NetworkTypes PolicyAuthoring PolicyFiles PolicyLint PolicySource RoamwardCore SeededRandom TestKit
    tests PolicyImportTests: KernelModel LinuxIO NetworkTypes OpenVPNLanguage OpenVPNProvider PolicyFiles PolicyImport PolicySource RoamwardCore SeededRandom TestSupport +but=Fixtures
    tests StatusDisplayTests: ControlProtocol JSON Metrics MetricUses NetworkTypes RoamwardCore StatusDisplay TestSupport
  Desktop: the tray item and the notifications
    rim DesktopService: LinuxIO NetworkTypes SystemdIO
    tests DesktopServiceTests: DesktopService LinuxIO NetworkTypes SeededRandom SystemdIO SystemdTestSupport TestSupport
  Programs: what is installed
    program roamward: AgentCore ArgumentParser BugReport ControlClient ControlProtocol CWipingHeap Doctor FlightRecord History HostFindings
        HostProxies JSON KernelModel KernelNetwork KeyMemory LinuxAgent LinuxIO LinuxPlatform LoginProtocol Metrics NetworkTypes PolicyAuthoring
        PolicyFiles PolicyImport PolicyLint PolicySource ProviderProtocol RoamwardCore Simulation StatusDisplay Terminal
    program roamwardd: AgentCore AgentDaemon ControlProtocol CWipingHeap LinuxAgent LinuxIO LinuxPlatform Logging NetworkTypes RoamwardCore
    program roamward-desktop: DesktopService LinuxIO SystemdIO
    program roamward-names: NameWorker ProcessConfinement
    program roamward-probe: ProbeWorker ProcessConfinement
    program roamward-provider: ClientProvider CWipingHeap NebulaProvider NetworkTypes OpenConnectProvider OpenVPNProvider RoamwardProvider
        StrongSwanProvider
    program roamward-proxy: ProcessConfinement ProxyWorker
    program roamward-socks: FlowRelay ProcessConfinement
    program roamward-wireguard: LinuxIO NetworkTypes WireGuardControl WireGuardDataPath
    program roamward-gateway: ArgumentParser CWipingHeap GatewayCore GatewayCredentials GatewayHost GatewayLogin GatewayPage GatewaySource
        GatewayStore HostFindings JSON KernelModel KeyMemory LinuxIO LoginProtocol Metrics NetworkTypes PolicySource Terminal
    program roamward-gateway-auth: CWipingHeap GatewayAuth ProcessConfinement
    program roamward-gateway-oidc: CWipingHeap GatewayOpenID ProcessConfinement
    program roamward-gateway-pam: CWipingHeap GatewayPAM ProcessConfinement
    program roamward-gateway-store: GatewayPostgreSQL ProcessConfinement
    program roamward-gateway-web: CWipingHeap GatewayWeb ProcessConfinement
  Support: for tests alone
    c CConfined CNamespace CTunDevice
    c CFaultyCipher: CCipherLibraries
    rim MetricUses SeededRandom
    rim SchemaCheck: JSON
    rim SystemdTestSupport: CSystemd LinuxIO NetworkTypes SystemdIO TestSupport
    rim TestSupport: CLinux CNamespace LinuxIO NetworkTypes
    rim TestKit: KernelModel KeyMemory NetworkTypes RoamwardCore +tested
  examples: programs that are tunnels, to copy
    rim PlainUDP: JSON NetworkTypes ProviderProtocol RoamwardProvider +in=plain-udp
    rim BestVPN: CSodium JSON NetworkTypes ProviderProtocol RoamwardProvider +in=bestvpn
    rim SimpleTunnel: JSON NetworkTypes ProviderProtocol RoamwardProvider +in=simpletunnel
    program plain-udp: PlainUDP RoamwardProvider +in=plain-udp
    program bestvpn-provider: BestVPN RoamwardProvider +in=bestvpn
    rim SimpleTunnelHost: FlowProtocol FlowRelay LinuxIO NetworkTypes PolicyImport SimpleTunnel +in=simpletunnel
    program simpletunnel-provider: RoamwardProvider SimpleTunnel +in=simpletunnel
    program simpletunnel-server: FlowRelay LinuxIO NetworkTypes ProcessConfinement SimpleTunnelHost +in=simpletunnel
    program simpletunnel-flows: FlowRelay NetworkTypes ProcessConfinement SimpleTunnelHost +in=simpletunnel
  Benchmarks: what is measured beside others
    c CMallocCount
    program roamward-bench: ArgumentParser ControlClient ControlProtocol FlightRecord History KernelModel KernelNetwork KeyMemory LinuxIO
        LinuxPlatform NetworkTypes PolicySource ProviderGroups RoamwardCore TestKit WireGuardEngine
    program names-bench: CDatagrams LinuxIO NameProtocol NameServer NetworkTypes
    program gateway-devices: LinuxIO NetworkTypes WireGuardEngine
    program wireguard-bench: CMallocCount KeyMemory NetworkTypes WireGuardDataPath WireGuardEngine
  Tests: the whole house
    tests ArchitectureTests: JSON LinuxIO roamward roamward-desktop roamward-gateway roamward-gateway-pam roamward-gateway-web
        roamward-wireguard roamwardd TestSupport
    tests ScenarioTests: JSON LinuxIO NetworkTypes ProviderGroups SchemaCheck SeededRandom +but=Scenes
  """

/// Every target of ours: Swift 6 mode (from the tools version), explicit imports, explicit existentials, no warnings.
let strict: [SwiftSetting] =
  ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"].map { .enableUpcomingFeature($0) }
  + [.treatAllWarnings(as: .error)]

/// C of ours: every warning of the usual sets, and each is an error. `Makefile` adds the hardening of the release.
let strictC: [CSetting] =
  ["all", "extra"].map { .enableWarning($0) }
  + [.treatAllWarnings(as: .error), .define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release))]

/// A target of a kind. pure: values and functions, without an import of the machine, all of it memory-safe (Tests/ArchitectureTests). rim:
/// may touch the machine. c, system: C of ours, and of libraries. Settings are `+name` or `+name=value,value` in the table:
/// tested: debug builds optimize it too, because the tests run it most. fast: on the way of packets, routes and look-ups: releases optimize
/// it for speed, and all else for size (docs/decisions/0016). unsafe: pure, over C that computes. link, pkg, apt: a library, its name for
/// pkg-config, its package. embed, but: files that are built in, or are no sources. in: the folder of an example.
func target(_ name: String, _ kind: String, in area: String, uses: [Target.Dependency], settings: [String: [String]]) -> Target {
  let path =
    switch (area, kind) {
    case ("Benchmarks", _), ("Tests", _): "\(area)/\(name)"
    case ("examples", _): "examples/providers/\(settings["in", default: []].joined())/\(name)"
    case ("Support", _), (_, "tests"): "Tests/\(area)/\(name)"
    case (_, "pure"), (_, "rim"): "Sources/\(area)/\(kind == "pure" ? "Pure" : "Rim")/\(name)"
    default: "Sources/\(area)/\(name)"
    }
  let has = { settings[$0] != nil }
  let optimized = (has("fast") ? [BuildConfiguration.release] : []) + (has("fast") || has("tested") ? [.debug] : [])
  let swift =
    strict + (kind == "pure" && !has("unsafe") ? [.strictMemorySafety()] : [])
    + optimized.map { .unsafeFlags(["-Xfrontend", "-O"], .when(configuration: $0)) }
  let links = settings["link", default: []].map { LinkerSetting.linkedLibrary($0) }
  let resources = settings["embed", default: []].map { Resource.embedInCode($0) }
  return switch kind {
  case "system": .systemLibrary(name: name, path: path, pkgConfig: settings["pkg"]?[0], providers: settings["apt"].map { [.apt($0)] })
  case "c": .target(name: name, dependencies: uses, path: path, cSettings: strictC, linkerSettings: links)
  case "program": .executableTarget(name: name, dependencies: uses, path: path, swiftSettings: swift)
  case "tests": .testTarget(name: name, dependencies: uses, path: path, exclude: settings["but", default: []], swiftSettings: swift)
  case "pure", "rim": .target(name: name, dependencies: uses, path: path, resources: resources, swiftSettings: swift, linkerSettings: links)
  default: fatalError("\(name): there is no kind \(kind) (pure, rim, c, system, program, tests)")  // SwiftPM prints it.
  }
}

func targets(_ line: [String], in area: String) -> [Target] {
  let packages = ["ArgumentParser": "swift-argument-parser", "Logging": "swift-log"]
  let (words, marks) = (line.dropFirst().filter { !$0.hasPrefix("+") }, line.filter { $0.hasPrefix("+") })
  let count = words.firstIndex { $0.hasSuffix(":") }.map { $0 + 1 } ?? words.count
  let uses = words[count...].map { use in packages[use].map { .product(name: use, package: $0) } ?? Target.Dependency.byName(name: use) }
  let settings = marks.map { $0.dropFirst().split(separator: "=").map(String.init) }
    .map { ($0[0], $0.dropFirst().flatMap { $0.split(separator: ",").map(String.init) }) }
  return words[..<count].map { name in
    target(name.filter { $0 != ":" }, line[0], in: area, uses: uses, settings: Dictionary(settings) { $0 + $1 })
  }
}

var (all, area, line): ([Target], String, [String]) = ([], "", [])
for text in house.split(separator: "\n").map(String.init) + ["End:"] {
  let indent = text.prefix { $0 == " " }.count
  if indent < 6, !line.isEmpty { all += targets(line, in: area); line = [] }
  if indent == 0 { area = text.prefix { $0 != ":" }.description } else { line += text.split(separator: " ").map(String.init) }
}

let package = Package(
  name: "roamward",
  products: [  // docs/engine.md, docs/provider-kit.md
    .library(name: "WireGuardEngine", targets: ["WireGuardEngine", "NetworkTypes"]),
    .library(name: "RoamwardProvider", targets: ["RoamwardProvider", "ProviderProtocol", "NetworkTypes", "JSON"]),
    .library(name: "RoamwardProviderTesting", targets: ["RoamwardProviderTesting"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
  ],
  targets: all
)
