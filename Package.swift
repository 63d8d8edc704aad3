// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours: Swift 6 mode (from the tools version), explicit imports, explicit existentials, no warnings.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// The pure rings and all that reads untrusted text: no unsafe construct compiles there. The C libraries that parse for them stand behind
/// values, in targets of a file each.
let safe: [SwiftSetting] = strict + [.strictMemorySafety()]

/// For targets that the tests run most, in random lives and by the million: debug builds optimize them too, which makes those tests three
/// times as fast. To step through one in a debugger, take this out of its line.
let tested: [SwiftSetting] = [.unsafeFlags(["-Xfrontend", "-O"], .when(configuration: .debug))]

/// For targets on the way of packets, routes and look-ups, whose speed is measured: `make build` optimizes a release for size, because the
/// installed programs have a bound (`make size`, docs/decisions/0016), but not these. The frontend takes the last of such options, and has
/// this one after those of the command line.
let fast: [SwiftSetting] = [.unsafeFlags(["-Xfrontend", "-O"], .when(configuration: .release))] + tested

/// For targets none of whose values is printed by its members' names (`"\\(value)"` of an enumeration, `print`, `dump`): the programs go
/// without these names, and the linker can leave out what only they refer to (docs/decisions/0016). In each configuration, so that tests
/// see what users see.
let unnamed: [SwiftSetting] = [.unsafeFlags(["-Xfrontend", "-disable-reflection-metadata"])]

/// C of ours: every warning of the usual sets, and each is an error. `Makefile` adds the hardening of the release.
let strictC: [CSetting] = [
  .enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error),
  .define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release)),
]

/// A target of values and functions, without an import of the machine. `Tests/ArchitectureTests` holds it to that.
func pure(_ name: String, uses: [Target.Dependency] = [], optimized: [SwiftSetting] = []) -> Target {
  .target(name: name, dependencies: uses, swiftSettings: safe + optimized)
}

/// A target at the rim, which may touch the machine.
func rim(_ name: String, uses: [Target.Dependency], optimized: [SwiftSetting] = []) -> Target {
  .target(name: name, dependencies: uses, swiftSettings: strict + optimized)
}

/// A target of the package in Packages/WireGuard, built here from its sources, so that `package` reaches as far (docs/decisions/0019).
func engine(_ name: String, uses: [Target.Dependency], links: [LinkerSetting] = [], optimized: [SwiftSetting] = []) -> Target {
  .target(
    name: name, dependencies: uses, path: "Packages/WireGuard/Sources/\(name)", swiftSettings: strict + optimized, linkerSettings: links)
}

/// A target of the package in Packages/Provider, built here in the same way (docs/decisions/0031); and an example of it.
func provider(_ name: String, uses: [Target.Dependency], settings: [SwiftSetting] = strict) -> Target {
  .target(name: name, dependencies: uses, path: "Packages/Provider/Sources/\(name)", swiftSettings: settings)
}

func example(_ name: String, of folder: String, uses: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: uses, path: "examples/providers/\(folder)/\(name)", swiftSettings: strict)
}

func exampleProgram(_ name: String, of folder: String, runs library: String) -> Target {
  .executableTarget(
    name: name, dependencies: [.target(name: library), "RoamwardProvider"], path: "examples/providers/\(folder)/\(name)",
    swiftSettings: strict)
}

func providerTests(_ name: String, uses: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: uses, path: "Packages/Provider/Tests/\(name)", swiftSettings: strict)
}

/// A target of the gateway in Packages/Gateway, built here in the same way (docs/decisions/0046).
func gateway(_ name: String, uses: [Target.Dependency], settings: [SwiftSetting] = strict) -> Target {
  .target(name: name, dependencies: uses, path: "Packages/Gateway/Sources/\(name)", swiftSettings: settings)
}

func gatewayTests(_ name: String, uses: [Target.Dependency], resources: [String] = []) -> Target {
  .testTarget(name: name, dependencies: uses, path: "Packages/Gateway/Tests/\(name)", exclude: resources, swiftSettings: strict)
}

func engineTests(_ name: String, uses: [Target.Dependency], resources: [String] = []) -> Target {
  .testTarget(name: name, dependencies: uses, path: "Packages/WireGuard/Tests/\(name)", exclude: resources, swiftSettings: strict)
}

func tests(_ name: String, uses: [Target.Dependency], resources: [String] = []) -> Target {
  .testTarget(name: name, dependencies: uses, exclude: resources, swiftSettings: strict)
}

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

let package = Package(
  name: "roamward",
  products: [
    .executable(name: "roamwardd", targets: ["roamwardd"]),
    .executable(name: "roamward", targets: ["roamward"]),
    .executable(name: "roamward-wireguard", targets: ["roamward-wireguard"]),
    .executable(name: "roamward-probe", targets: ["roamward-probe"]),
    .executable(name: "roamward-names", targets: ["roamward-names"]),
    .executable(name: "roamward-gateway", targets: ["roamward-gateway"]),
    .executable(name: "roamward-gateway-auth", targets: ["roamward-gateway-auth"]),
    .executable(name: "roamward-gateway-store", targets: ["roamward-gateway-store"]),
    .executable(name: "roamward-gateway-oidc", targets: ["roamward-gateway-oidc"]),
    .executable(name: "roamward-gateway-web", targets: ["roamward-gateway-web"]),
    .executable(name: "roamward-gateway-pam", targets: ["roamward-gateway-pam"]),
    .executable(name: "roamward-desktop", targets: ["roamward-desktop"]),
    // For other packages: the WireGuard protocol, and the values that its interface speaks of (Packages/WireGuard/README.md).
    .library(name: "WireGuardEngine", targets: ["WireGuardEngine", "NetworkTypes"]),
    // For programs that are tunnels, and for their tests (Packages/Provider/README.md).
    .library(name: "RoamwardProvider", targets: ["RoamwardProvider", "ProviderProtocol", "NetworkTypes", "JSON"]),
    .library(name: "RoamwardProviderTesting", targets: ["RoamwardProviderTesting"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
  ],
  targets: [
    // C: module maps over Debian's libraries, and shims for what Swift cannot import.
    .target(name: "CLinux", cSettings: strictC),
    // Linked by programs that read keys: memory that they free is wiped (docs/decisions/0015).
    .target(name: "CWipingHeap", cSettings: strictC),
    .target(name: "CConfinement", cSettings: strictC, linkerSettings: [.linkedLibrary("seccomp")]),
    // Loads libnftables when it is first needed (docs/decisions/0033).
    .target(name: "CNftables", cSettings: strictC),
    // Gives back the code that only a start needs (docs/decisions/0033).
    .target(name: "CTextPages", cSettings: strictC),
    // Control groups, and the program that marks their sockets.
    .target(name: "CControlGroup", cSettings: strictC),
    // Batches of datagrams for the name server's process.
    .target(name: "CDatagrams", cSettings: strictC),
    .target(name: "CWireGuardIO", path: "Packages/WireGuard/Sources/CWireGuardIO", cSettings: strictC),
    .target(
      name: "CWireGuardConfinement", dependencies: ["CConfinement", "CWireGuardIO"],
      path: "Packages/WireGuard/Sources/CWireGuardConfinement",
      cSettings: strictC),
    .target(name: "CTransportCipher", path: "Packages/WireGuard/Sources/CTransportCipher", cSettings: strictC),
    // Loads Intel's and OpenSSL's ChaCha20-Poly1305 where they are installed.
    .target(
      name: "CCipherLibraries", dependencies: ["CTransportCipher"], path: "Packages/WireGuard/Sources/CCipherLibraries",
      cSettings: strictC),
    .systemLibrary(name: "CNetlink", pkgConfig: "libnl-genl-3.0", providers: [.apt(["libnl-genl-3-dev"])]),
    .systemLibrary(name: "CBlake2", path: "Packages/WireGuard/Sources/CBlake2", providers: [.apt(["libb2-dev"])]),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(name: "CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"])]),
    .systemLibrary(name: "CAres", pkgConfig: "libcares", providers: [.apt(["libc-ares-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

    // Ring 0: the vocabulary.
    pure("NetworkTypes", optimized: fast + unnamed),

    // Ring 0 as well: JSON as values, its text, and the coder of what is declared once. jansson reads it.
    pure("JSON", uses: ["NetworkTypes", "CJansson"], optimized: tested + unnamed),

    // Ring 0 as well: keys, as values whose bytes are in locked memory.
    rim("KeyMemory", uses: ["CSodium"], optimized: fast + unnamed),

    // Ring 0 as well: what there is in the kernel and in resolvers, our marks on it, and the steps that change it.
    pure("KernelModel", uses: ["NetworkTypes", "KeyMemory"], optimized: fast + unnamed),

    // Ring 1: what decides, as functions on values.
    pure("PeerDetection", uses: ["NetworkTypes"]),
    pure("RoamwardCore", uses: ["JSON", "NetworkTypes", "KernelModel", "KeyMemory", "PeerDetection"], optimized: tested + unnamed),
    pure("Wire", uses: ["NetworkTypes", "KernelModel", "KeyMemory"], optimized: fast + unnamed),

    // Ring 1 as well: the name server, bytes in and bytes out.
    pure("NameServer", uses: ["NetworkTypes"], optimized: fast + unnamed),

    // Ring 1 as well, for the command line alone: what is likely a mistake in policies, and what is wrong with a host.
    pure("PolicyLint", uses: ["NetworkTypes", "KernelModel", "RoamwardCore"], optimized: unnamed),
    pure("Doctor", uses: ["NetworkTypes", "KernelModel", "RoamwardCore"], optimized: unnamed),

    // Ring 1 as well: the WireGuard protocol, bytes in and bytes out, over two C libraries that compute and touch nothing. Of libb2 what
    // is needed is linked in: the shared library brings libgomp.
    engine(
      "WireGuardEngine", uses: ["NetworkTypes", "KeyMemory", "CSodium", "CBlake2", "CTransportCipher"], links: [.linkedLibrary(":libb2.a")],
      optimized: fast),
    engine("WireGuardControl", uses: ["NetworkTypes", "LinuxIO", "CWireGuardIO"], optimized: unnamed),
    engine(
      "WireGuardDataPath",
      uses: [
        "NetworkTypes", "KeyMemory", "LinuxIO", "ProcessConfinement", "WireGuardControl", "WireGuardEngine", "CWireGuardConfinement",
        "CWireGuardIO", "CCipherLibraries", "CTransportCipher", "CSodium",
      ], optimized: fast),

    // Ring 1 as well: the protocol between the agent and a provider of tunnels, both sides. And for providers: their library, an agent in
    // memory for their tests, examples.
    provider("ProviderProtocol", uses: ["JSON", "NetworkTypes"], settings: safe + unnamed),
    .target(name: "CProviderIO", path: "Packages/Provider/Sources/CProviderIO", cSettings: strictC),
    provider("RoamwardProvider", uses: ["CLinux", "CProviderIO", "JSON", "LinuxIO", "NetworkTypes", "ProviderProtocol"]),
    provider("RoamwardProviderTesting", uses: ["JSON", "NetworkTypes", "ProviderProtocol", "RoamwardProvider"]),
    // The language of openvpn(8)'s configurations: for its provider and for imports.
    // The validity of X.509 certificates, by libcrypto.
    rim("ProviderCertificates", uses: ["CCrypto", "NetworkTypes", "ProviderProtocol"], optimized: unnamed),
    pure("OpenVPNLanguage", optimized: unnamed),
    rim(
      "OpenVPNProvider",
      uses: [
        "CLinux", "JSON", "LinuxIO", "NetworkTypes", "OpenVPNLanguage", "ProviderCertificates", "ProviderProtocol", "RoamwardProvider",
      ],
      optimized: unnamed),
    rim(
      "OpenConnectProvider",
      uses: ["CLinux", "JSON", "LinuxIO", "NetworkTypes", "ProviderCertificates", "ProviderProtocol", "RoamwardProvider"],
      optimized: unnamed),
    rim(
      "NebulaProvider", uses: ["CLinux", "JSON", "LinuxIO", "NetworkTypes", "ProviderProtocol", "RoamwardProvider", "YAMLEvents"],
      optimized: unnamed),
    // The wire format of charon's interface, bytes in and values out; and the removal of what a charon that was killed has left.
    pure("VICI"),
    .target(name: "CXFRM", cSettings: strictC),
    rim(
      "StrongSwanProvider",
      uses: [
        "CCrypto", "CLinux", "CXFRM", "JSON", "LinuxIO", "NetworkTypes", "ProviderCertificates", "ProviderProtocol", "RoamwardProvider",
        "VICI",
      ],
      optimized: unnamed),
    // Our own gateway: the login, and the engine's process.
    rim(
      "ClientProvider",
      uses: [
        "CSodium", "CTLS", "JSON", "KeyMemory", "LinuxIO", "LoginProtocol", "NetworkTypes", "PeerDetection", "ProviderProtocol",
        "RoamwardProvider", "WireGuardControl",
      ]),
    // One program for all of them (docs/decisions/0044).
    .executableTarget(
      name: "roamward-provider",
      dependencies: [
        "CWipingHeap", "ClientProvider", "NebulaProvider", "OpenConnectProvider", "OpenVPNProvider", "RoamwardProvider",
        "StrongSwanProvider",
      ],
      swiftSettings: strict),
    example("PlainUDP", of: "plain-udp", uses: ["JSON", "NetworkTypes", "ProviderProtocol", "RoamwardProvider"]),
    example("BestVPN", of: "bestvpn", uses: ["CSodium", "JSON", "NetworkTypes", "ProviderProtocol", "RoamwardProvider"]),
    example("SimpleTunnel", of: "simpletunnel", uses: ["JSON", "NetworkTypes", "ProviderProtocol", "RoamwardProvider"]),
    exampleProgram("plain-udp", of: "plain-udp", runs: "PlainUDP"),
    exampleProgram("bestvpn-provider", of: "bestvpn", runs: "BestVPN"),
    exampleProgram("simpletunnel-provider", of: "simpletunnel", runs: "SimpleTunnel"),

    // The gateway: what decides, its store, its program.
    .systemLibrary(
      name: "CSQLite", path: "Packages/Gateway/Sources/CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(
      name: "CQREncode", path: "Packages/Gateway/Sources/CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
    .systemLibrary(
      name: "CPostgreSQL", path: "Packages/Gateway/Sources/CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    gateway("GatewayCore", uses: ["KernelModel", "KeyMemory", "Metrics", "NetworkTypes"], settings: safe),
    gateway("LoginProtocol", uses: ["NetworkTypes"], settings: safe),
    gateway("GatewayLogin", uses: ["GatewayCore", "LoginProtocol", "NetworkTypes"], settings: safe),
    // Linked by programs that hash passwords: they get huge pages for it (docs/decisions/0070).
    .target(name: "CHashMemory", path: "Packages/Gateway/Sources/CHashMemory", cSettings: strictC),
    gateway("GatewayCredentials", uses: ["CCrypto", "CHashMemory", "CSodium"]),
    .systemLibrary(name: "CTLS", path: "Packages/Gateway/Sources/CTLS", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
    // What reads strangers' bytes for the gateway.
    gateway("GatewaySockets", uses: ["LinuxIO", "NetworkTypes"]),
    gateway(
      "GatewayAuth",
      uses: [
        "CLinux", "CSodium", "CTLS", "GatewayCore", "GatewayCredentials", "GatewayLogin", "GatewaySockets", "LinuxIO", "LoginProtocol",
        "NetworkTypes", "ProcessConfinement",
      ]),
    .executableTarget(
      name: "roamward-gateway-auth", dependencies: ["CWipingHeap", "GatewayAuth", "ProcessConfinement"],
      path: "Packages/Gateway/Sources/roamward-gateway-auth", swiftSettings: strict),
    // Sign-ins at an OpenID provider: what is decided, and what reads the provider's bytes.
    gateway("OpenIDConnect", uses: ["GatewayLogin", "JSON", "LoginProtocol", "NetworkTypes"], settings: safe),
    gateway(
      "GatewayOpenID",
      uses: [
        "CAres", "CCrypto", "CCurl", "ClientLibraries", "GatewayLogin", "JSON", "LinuxIO", "LoginProtocol", "NetworkTypes",
        "OpenIDConnect", "ProcessConfinement",
      ]),
    .executableTarget(
      name: "roamward-gateway-oidc", dependencies: ["CWipingHeap", "GatewayOpenID", "ProcessConfinement"],
      path: "Packages/Gateway/Sources/roamward-gateway-oidc", swiftSettings: strict),
    // Checks of passwords by PAM: its modules, which read services' bytes.
    .systemLibrary(name: "CPAM", path: "Packages/Gateway/Sources/CPAM", providers: [.apt(["libpam0g-dev"])]),
    gateway(
      "GatewayPAM",
      uses: ["CPAM", "GatewayCore", "GatewayLogin", "LinuxIO", "LoginProtocol", "NetworkTypes", "ProcessConfinement"]),
    .executableTarget(
      name: "roamward-gateway-pam", dependencies: ["CWipingHeap", "GatewayPAM", "ProcessConfinement"],
      path: "Packages/Gateway/Sources/roamward-gateway-pam", swiftSettings: strict),
    gateway("GatewayStore", uses: ["CSQLite", "CSodium", "GatewayCore", "KernelModel", "NetworkTypes"]),
    // What reads a server's bytes for the gateway's store.
    gateway(
      "GatewayPostgreSQL",
      uses: ["CPostgreSQL", "GatewayCore", "GatewayStore", "LinuxIO", "NetworkTypes", "ProcessConfinement"]),
    .executableTarget(
      name: "roamward-gateway-store", dependencies: ["GatewayPostgreSQL", "ProcessConfinement"],
      path: "Packages/Gateway/Sources/roamward-gateway-store", swiftSettings: strict),
    // What reads the requests of browsers.
    gateway("PageProtocol", uses: ["GatewayCore", "KernelModel", "LoginProtocol", "NetworkTypes"], settings: safe),
    gateway("GatewayPage", uses: ["GatewayCore", "JSON", "KernelModel", "NetworkTypes", "PageProtocol"], settings: safe),
    .systemLibrary(
      name: "CMicroHTTPD", path: "Packages/Gateway/Sources/CMicroHTTPD", pkgConfig: "libmicrohttpd",
      providers: [.apt(["libmicrohttpd-dev"])]),
    .target(
      name: "GatewayWeb",
      dependencies: ["CMicroHTTPD", "LinuxIO", "LoginProtocol", "NetworkTypes", "PageProtocol", "ProcessConfinement"],
      path: "Packages/Gateway/Sources/GatewayWeb",
      resources: [.embedInCode("Files/page.html"), .embedInCode("Files/page.css"), .embedInCode("Files/page.js")],
      swiftSettings: strict),
    .executableTarget(
      name: "roamward-gateway-web", dependencies: ["CWipingHeap", "GatewayWeb", "ProcessConfinement"],
      path: "Packages/Gateway/Sources/roamward-gateway-web", swiftSettings: strict),
    gateway(
      "GatewayHost",
      uses: [
        "CQREncode", "CSodium", "ConfinedProcess", "GatewayCore", "GatewayCredentials", "GatewayLogin", "GatewayPage", "GatewaySockets",
        "GatewayStore", "JSON", "KernelModel", "KernelNetwork", "KeyMemory", "LinuxIO", "LoginProtocol", "Metrics", "NetworkTypes",
        "PageProtocol", "SystemdIO", "TunnelProviders",
      ]),
    .executableTarget(
      name: "roamward-gateway",
      dependencies: [
        "CWipingHeap", "GatewayCore", "GatewayCredentials", "GatewayHost", "GatewayLogin", "GatewayPage", "GatewayStore", "JSON",
        "KernelModel", "KeyMemory", "LinuxIO", "LoginProtocol", "Metrics", "NetworkTypes", argumentParser,
      ], path: "Packages/Gateway/Sources/roamward-gateway", swiftSettings: strict),
    gatewayTests(
      "GatewayCoreTests",
      uses: ["GatewayCore", "KernelModel", "KeyMemory", "Metrics", "NetworkTypes", "SeededRandom", "TestSupport"]),
    gatewayTests(
      "GatewayLoginTests",
      uses: ["GatewayCore", "GatewayCredentials", "GatewayLogin", "LoginProtocol", "NetworkTypes", "SeededRandom"]),
    gatewayTests(
      "GatewayStoreTests",
      uses: [
        "GatewayCore", "GatewayHost", "GatewayPostgreSQL", "GatewayStore", "KernelModel", "LinuxIO", "NetworkTypes", "SeededRandom",
        "TestSupport", "roamward-gateway-store",
      ]),
    gatewayTests(
      "GatewayServeTests",
      uses: [
        "GatewayCore", "GatewayHost", "KernelModel", "KernelNetwork", "LinuxIO", "NetworkTypes", "ProviderGroups", "SeededRandom",
        "TestSupport", "roamward-gateway", "roamward-gateway-auth", "roamward-gateway-oidc", "roamward-gateway-pam",
        "roamward-gateway-store", "roamward-gateway-web", "roamward-wireguard",
      ],
      resources: [
        "agree.py", "browser.py", "codes.bash", "directory.bash", "errors.bash", "flood.bash", "flow.py", "gateway.bash", "grants.bash",
        "hold.bash", "hold.py", "host_path.py", "login.bash", "login.py", "moved.bash", "openid.bash", "packets.py", "page.bash",
        "pair.bash", "pam.bash", "pam_scene.c", "postgresql.bash", "relay.py", "scene.bash", "shadow.bash", "shared.bash", "terminal.py",
      ]),
    gatewayTests(
      "GatewayAuthTests",
      uses: ["CConfined", "GatewayAuth", "GatewayOpenID", "GatewayPAM", "GatewayPostgreSQL", "GatewayWeb", "ProcessConfinement"]),
    gatewayTests(
      "OpenIDConnectTests",
      uses: [
        "GatewayCore", "GatewayLogin", "GatewayOpenID", "JSON", "LinuxIO", "LoginProtocol", "NetworkTypes", "OpenIDConnect", "SeededRandom",
        "TestSupport", "roamward-gateway-oidc",
      ], resources: ["issuer.py"]),
    gatewayTests(
      "GatewayPageTests",
      uses: [
        "GatewayCore", "GatewayPage", "JSON", "KernelModel", "LinuxIO", "LoginProtocol", "NetworkTypes", "PageProtocol", "SeededRandom",
        "TestSupport", "roamward-gateway-web",
      ]),

    // Text in, values out; and the words of the local socket.
    pure(
      "PolicySource", uses: ["JSON", "NetworkTypes", "KeyMemory", "KernelModel", "RoamwardCore", "PolicyFiles", "YAMLEvents"],
      optimized: unnamed),
    pure("ControlProtocol", uses: ["JSON", "NetworkTypes", "KernelModel", "RoamwardCore"], optimized: unnamed),
    // Metrics as text, of the agent and of the gateway.
    pure("Metrics", uses: [], optimized: unnamed),
    pure("StatusDisplay", uses: ["ControlProtocol", "JSON", "Metrics", "NetworkTypes", "RoamwardCore"], optimized: unnamed),
    pure("BugReport", uses: ["JSON", "NetworkTypes", "YAMLEvents"], optimized: unnamed),
    pure(
      "PolicyImport",
      uses: [
        "JSON", "KernelModel", "NetworkTypes", "OpenVPNLanguage", "RoamwardCore", "PolicyFiles", "PolicySource", "XMLEvents",
        "SignedMessages",
      ],
      optimized: unnamed),

    // What commands write into policies: for the command line alone.
    pure("PolicyAuthoring", uses: ["NetworkTypes", "RoamwardCore", "PolicyFiles", "PolicySource"], optimized: unnamed),

    // The agent's record: its entries, their bytes, what is kept; and for the command line what the record shows.
    pure(
      "FlightRecord", uses: ["ControlProtocol", "JSON", "KeyMemory", "NetworkTypes", "RoamwardCore"], optimized: unnamed),
    pure(
      "History", uses: ["ControlProtocol", "FlightRecord", "JSON", "NetworkTypes", "PolicySource", "RoamwardCore"], optimized: unnamed),

    // What the readers above stand on: one C library each, behind values; and the files.
    rim("YAMLEvents", uses: ["CYAML"], optimized: unnamed),
    rim("XMLEvents", uses: ["CExpat"], optimized: unnamed),
    rim("SignedMessages", uses: ["CCrypto"], optimized: unnamed),
    rim("PolicyFiles", uses: [], optimized: unnamed),

    // What the agent says to `roamward-names` and to `roamward-probe`, and they to it.
    rim("NameProtocol", uses: ["JSON", "NameServer", "NetworkTypes"], optimized: unnamed),
    rim("ProbeProtocol", uses: ["JSON", "NetworkTypes"], optimized: unnamed),

    // Ring 2: effects.
    rim("LinuxIO", uses: ["NetworkTypes", "CLinux"], optimized: unnamed),
    rim("SystemdIO", uses: ["NetworkTypes", "LinuxIO", "CLinux", "CSystemd"], optimized: unnamed),
    rim("ProcessConfinement", uses: ["LinuxIO", "CConfinement"], optimized: unnamed),
    rim("ConfinedProcess", uses: ["NetworkTypes", "LinuxIO", "SystemdIO"], optimized: unnamed),
    rim(
      "KernelNetwork", uses: ["NetworkTypes", "KernelModel", "Wire", "LinuxIO", "CNetlink", "CNftables"], optimized: unnamed),
    rim(
      "HostDNS",
      uses: [
        "NetworkTypes", "KernelModel", "RoamwardCore", "Wire", "LinuxIO", "CLinux", "SystemdIO", "ConfinedProcess", "NameProtocol",
        "NameServer",
      ], optimized: unnamed),
    rim(
      "HostProbes",
      uses: ["NetworkTypes", "KernelModel", "RoamwardCore", "LinuxIO", "SystemdIO", "ConfinedProcess", "ProbeProtocol", "CLinux"],
      optimized: unnamed),
    rim(
      "HostServices", uses: ["JSON", "NetworkTypes", "KernelModel", "RoamwardCore", "LinuxIO", "SystemdIO"], optimized: unnamed),
    rim("ProviderGroups", uses: ["KernelModel", "LinuxIO", "CControlGroup"], optimized: unnamed),
    rim(
      "TunnelProviders",
      uses: [
        "NetworkTypes", "KernelModel", "RoamwardCore", "PolicyFiles", "Wire", "LinuxIO", "ProviderGroups", "SystemdIO",
        "WireGuardControl", "ProviderProtocol", "CLinux",
      ], optimized: unnamed),

    // Ring 3: the agent and who talks to it.
    rim(
      "AgentCore",
      uses: [
        "ControlProtocol", "JSON", "KernelModel", "NetworkTypes", "PeerDetection", "PolicySource", "ProviderProtocol", "RoamwardCore",
      ],
      optimized: tested + unnamed),
    rim(
      "LinuxPlatform",
      uses: [
        "AgentCore", "CLinux", "ControlProtocol", "Doctor", "FlightRecord", "HostDNS", "HostProbes", "HostServices", "JSON", "KernelModel",
        "KernelNetwork",
        "KeyMemory",
        "LinuxIO", "NetworkTypes", "PolicyFiles", "PolicySource", "ProviderGroups", "ProviderProtocol", "RoamwardCore", "SystemdIO",
        "TunnelProviders",
      ], optimized: unnamed),
    rim(
      "LinuxAgent",
      uses: [
        "AgentCore", "ControlProtocol", "HostDNS", "HostServices", "KernelModel", "KernelNetwork", "LinuxIO", "LinuxPlatform",
        "NetworkTypes", "PolicySource", "ProviderGroups", "RoamwardCore", "SystemdIO", "TunnelProviders", logging,
      ], optimized: unnamed),
    rim(
      "AgentDaemon",
      uses: [
        "AgentCore", "CTextPages", "ControlProtocol", "HostDNS", "HostServices", "JSON", "KernelModel", "KernelNetwork", "LinuxAgent",
        "LinuxIO",
        "LinuxPlatform", "NetworkTypes", "RoamwardCore", "SystemdIO", logging,
      ], optimized: unnamed),
    rim("ControlClient", uses: ["ControlProtocol", "JSON", "LinuxIO", "NetworkTypes"], optimized: unnamed),
    .executableTarget(
      name: "roamwardd",
      dependencies: [
        "AgentCore", "AgentDaemon", "ControlProtocol", "LinuxAgent", "LinuxPlatform", "CWipingHeap", "LinuxIO", "NetworkTypes",
        "RoamwardCore", logging,
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "roamward",
      dependencies: [
        "NetworkTypes", "JSON", "KernelModel", "RoamwardCore", "PolicySource", "ControlProtocol", "ControlClient", "FlightRecord",
        "History", "KernelNetwork", "PolicyFiles", "AgentCore", "LinuxAgent", "LinuxPlatform", argumentParser, "Doctor",
        "PolicyAuthoring", "PolicyImport", "PolicyLint", "ProviderProtocol", "KeyMemory", "LinuxIO", "Simulation", "CWipingHeap",
        "BugReport", "Metrics", "StatusDisplay",
      ], swiftSettings: strict),

    // The tray item and the notifications of a user's desktop: it knows the agent by its D-Bus interface alone.
    rim("DesktopService", uses: ["NetworkTypes", "LinuxIO", "SystemdIO"], optimized: unnamed),
    .executableTarget(
      name: "roamward-desktop", dependencies: ["DesktopService", "LinuxIO", "SystemdIO"], swiftSettings: strict),

    .executableTarget(
      name: "roamward-wireguard", dependencies: ["WireGuardControl", "WireGuardDataPath", "LinuxIO"],
      path: "Packages/WireGuard/Sources/roamward-wireguard", swiftSettings: strict),

    // libcurl and c-ares on our event loop, for the programs that read the answers of strangers.
    rim("ClientLibraries", uses: ["CAres", "CCurl", "LinuxIO", "NetworkTypes"]),

    // The answers to probes and look-ups.
    rim(
      "ProbeWorker",
      uses: ["NetworkTypes", "ProbeProtocol", "ClientLibraries", "LinuxIO", "ProcessConfinement", "CAres", "CCurl"]),
    .executableTarget(name: "roamward-probe", dependencies: ["ProbeWorker", "ProcessConfinement"], swiftSettings: strict),

    // The name server: clients' questions and name servers' answers.
    rim(
      "NameWorker",
      uses: ["CDatagrams", "CLinux", "CTextPages", "LinuxIO", "NameProtocol", "NameServer", "NetworkTypes", "ProcessConfinement"],
      optimized: fast),
    .executableTarget(name: "roamward-names", dependencies: ["NameWorker", "ProcessConfinement"], swiftSettings: strict),

    // The agent in a machine in memory: for `roamward simulate`, and for tests.
    rim(
      "Simulation",
      uses: ["AgentCore", "ControlProtocol", "JSON", "NetworkTypes", "PolicySource", "ProviderProtocol", "KernelModel", "RoamwardCore"],
      optimized: tested + unnamed),

    // Not shipped.
    rim("TestKit", uses: ["NetworkTypes", "KeyMemory", "KernelModel", "RoamwardCore"], optimized: tested),
    .executableTarget(
      name: "roamward-bench",
      dependencies: [
        "ControlClient", "ControlProtocol", "FlightRecord", "History", "KernelNetwork", "KeyMemory", "LinuxIO", "LinuxPlatform",
        "NetworkTypes", "KernelModel", "PolicySource",
        "ProviderGroups", "RoamwardCore", "TestKit", "WireGuardEngine",
        argumentParser,
      ],
      path: "Benchmarks/roamward-bench", swiftSettings: strict),
    .executableTarget(
      name: "names-bench", dependencies: ["CDatagrams", "LinuxIO", "NameProtocol", "NameServer", "NetworkTypes"],
      path: "Benchmarks/names-bench", swiftSettings: strict),
    .executableTarget(
      name: "gateway-devices", dependencies: ["LinuxIO", "NetworkTypes", "WireGuardEngine"],
      path: "Benchmarks/gateway-devices", swiftSettings: strict),
    .target(name: "CMallocCount", path: "Packages/WireGuard/Benchmarks/CMallocCount", cSettings: strictC),
    .executableTarget(
      name: "wireguard-bench",
      dependencies: ["CMallocCount", "KeyMemory", "NetworkTypes", "WireGuardDataPath", "WireGuardEngine"],
      path: "Packages/WireGuard/Benchmarks/wireguard-bench", swiftSettings: strict),
    tests("NetworkTypesTests", uses: ["NetworkTypes", "SeededRandom"]),
    tests("JSONTests", uses: ["JSON", "NetworkTypes", "SchemaCheck"]),
    tests("KeyMemoryTests", uses: ["KeyMemory"]),
    tests(
      "PolicySourceTests",
      uses: [
        "JSON", "PolicyFiles", "PolicyLint", "KeyMemory", "LinuxIO", "PolicySource", "KernelModel", "RoamwardCore", "NetworkTypes",
        "SeededRandom", "TestSupport",
      ]),
    tests(
      "PolicyImportTests",
      uses: [
        "PolicyFiles", "LinuxIO", "NetworkTypes", "OpenVPNProvider", "PolicyImport", "PolicySource", "KernelModel", "RoamwardCore",
        "OpenVPNLanguage", "SeededRandom", "TestSupport",
      ],
      resources: ["Fixtures"]),
    tests("PolicyAuthoringTests", uses: ["NetworkTypes", "PolicyAuthoring", "PolicyFiles", "PolicyLint", "PolicySource", "RoamwardCore"]),
    tests(
      "RoamwardCoreTests",
      uses: ["Doctor", "KernelModel", "RoamwardCore", "NetworkTypes", "PeerDetection", "Simulation", "TestKit", "SeededRandom"]),
    tests(
      "AgentTests",
      uses: [
        "Doctor", "AgentCore", "AgentDaemon", "LinuxAgent", "LinuxPlatform", "ControlProtocol", "FlightRecord", "History", "KeyMemory",
        "HostServices", "JSON", "LinuxIO", "NetworkTypes",
        "PolicySource", "KernelModel", "ProviderProtocol", "RoamwardCore", "Simulation", "TestKit", "SystemdIO", "SystemdTestSupport",
        "TestSupport", logging,
        "SeededRandom",
      ]),
    tests(
      "OpenVPNProviderTests",
      uses: [
        "JSON", "NetworkTypes", "OpenVPNProvider", "ProviderProtocol", "RoamwardProvider", "RoamwardProviderTesting", "SeededRandom",
      ]),
    tests(
      "NebulaProviderTests",
      uses: [
        "JSON", "LinuxIO", "NebulaProvider", "NetworkTypes", "ProviderProtocol", "RoamwardProvider", "RoamwardProviderTesting",
        "SeededRandom",
        "TestSupport",
      ]),
    tests(
      "ClientProviderTests",
      uses: [
        "ClientProvider", "GatewayAuth", "GatewayCredentials", "JSON", "KeyMemory", "LoginProtocol", "NetworkTypes", "ProviderProtocol",
        "RoamwardProvider", "RoamwardProviderTesting", "SeededRandom",
      ]),
    tests("VICITests", uses: ["SeededRandom", "VICI"]),
    tests(
      "StrongSwanProviderTests",
      uses: [
        "JSON", "NetworkTypes", "ProviderCertificates", "ProviderProtocol", "RoamwardProvider", "RoamwardProviderTesting", "SeededRandom",
        "StrongSwanProvider", "VICI",
      ]),
    tests(
      "OpenConnectProviderTests",
      uses: [
        "JSON", "NetworkTypes", "OpenConnectProvider", "ProviderProtocol", "RoamwardProvider", "RoamwardProviderTesting", "SeededRandom",
      ]),
    tests(
      "ArchitectureTests",
      uses: [
        "JSON", "LinuxIO", "TestSupport", "roamward", "roamward-desktop", "roamward-gateway", "roamward-gateway-pam",
        "roamward-gateway-web", "roamward-wireguard",
        "roamwardd",
      ]),
    tests(
      "StatusDisplayTests",
      uses: ["ControlProtocol", "JSON", "Metrics", "NetworkTypes", "RoamwardCore", "StatusDisplay", "TestSupport"]),
    tests("BugReportTests", uses: ["BugReport", "JSON", "LinuxIO", "SeededRandom"]),
    tests(
      "ControlProtocolTests",
      uses: [
        "ControlProtocol", "JSON", "KernelModel", "LinuxIO", "NetworkTypes", "PolicySource", "RoamwardCore", "SchemaCheck", "SeededRandom",
        "TestKit",
      ],
      resources: ["Golden"]),
    tests(
      "ScenarioTests", uses: ["JSON", "LinuxIO", "NetworkTypes", "ProviderGroups", "SchemaCheck", "SeededRandom"],
      resources: [
        "scene.bash", "leaks.bash", "strays", "forge", "advertise", "asker", "capture.bash", "crowd", "keepers.bash", "names.bash",
        "question", "roaming.bash", "sniff", "find-key", "client.bash", "clients.bash", "clients", "guard.bash", "explained",
        "pam.bash", "terminal",
      ]),
    .target(name: "SchemaCheck", dependencies: ["JSON"], path: "Tests/SchemaCheck", swiftSettings: strict),
    .target(name: "SeededRandom", path: "Tests/SeededRandom", swiftSettings: strict),
    .target(name: "CNamespace", path: "Tests/CNamespace", cSettings: strictC),
    .target(name: "CConfined", path: "Tests/CConfined", cSettings: strictC),
    .target(
      name: "TestSupport", dependencies: ["CLinux", "LinuxIO", "NetworkTypes", "CNamespace"], path: "Tests/TestSupport",
      swiftSettings: strict),
    .target(
      name: "SystemdTestSupport", dependencies: ["LinuxIO", "SystemdIO", "NetworkTypes", "TestSupport", "CSystemd"],
      path: "Tests/SystemdTestSupport", swiftSettings: strict),
    tests("LinuxIOTests", uses: ["CLinux", "CTextPages", "LinuxIO", "NetworkTypes", "TestSupport"]),
    tests("SystemdIOTests", uses: ["CSystemd", "LinuxIO", "SystemdIO", "NetworkTypes", "TestSupport", "SystemdTestSupport"]),
    tests(
      "DesktopServiceTests",
      uses: ["DesktopService", "LinuxIO", "NetworkTypes", "SeededRandom", "SystemdIO", "SystemdTestSupport", "TestSupport"]),
    tests("NameProtocolTests", uses: ["NameProtocol", "NameServer", "NetworkTypes", "SeededRandom"]),
    tests(
      "NameWorkerTests",
      uses: [
        "CConfined", "LinuxIO", "NameProtocol", "NameServer", "NameWorker", "NetworkTypes", "ProcessConfinement", "TestSupport",
        "roamward-names",
      ]),
    tests("NameServerTests", uses: ["NameServer", "NetworkTypes", "SeededRandom"]),
    tests("ProbeProtocolTests", uses: ["NetworkTypes", "ProbeProtocol", "SeededRandom"]),
    tests(
      "ProbeWorkerTests",
      uses: [
        "CConfined", "LinuxIO", "NetworkTypes", "ProbeProtocol", "ProcessConfinement", "ProbeWorker", "TestSupport", "roamward-probe",
      ]),
    tests(
      "HostDNSTests",
      uses: [
        "HostDNS", "LinuxIO", "NetworkTypes", "KernelModel", "RoamwardCore", "SeededRandom", "SystemdIO", "SystemdTestSupport",
        "TestSupport", "CSystemd",
      ]),
    tests(
      "HostProbesTests",
      uses: [
        "HostProbes", "LinuxIO", "NetworkTypes", "RoamwardCore", "SystemdIO", "SystemdTestSupport", "TestSupport", "roamward-probe",
      ]),
    tests(
      "HostServicesTests",
      uses: [
        "HostServices", "LinuxIO", "NetworkTypes", "KernelModel", "RoamwardCore", "SystemdIO", "SystemdTestSupport", "TestSupport",
        "CSystemd",
      ]),
    tests(
      "TunnelProvidersTests",
      uses: [
        "CLinux", "TunnelProviders", "KeyMemory", "LinuxIO", "NetworkTypes", "KernelModel", "ProviderGroups", "RoamwardCore", "SystemdIO",
        "SystemdTestSupport",
        "TestSupport", "CSodium",
        "roamward-wireguard",
      ]),
    tests("ProviderGroupsTests", uses: ["KernelModel", "LinuxIO", "NetworkTypes", "ProviderGroups", "SeededRandom", "TestSupport"]),
    .target(
      name: "CFaultyCipher", dependencies: ["CCipherLibraries"], path: "Packages/WireGuard/Tests/CFaultyCipher", cSettings: strictC),
    engineTests(
      "WireGuardEngineTests",
      uses: [
        "CCipherLibraries", "CTransportCipher", "WireGuardEngine", "KeyMemory", "CSodium", "NetworkTypes", "TestSupport", "SeededRandom",
      ]),
    engineTests("WireGuardControlTests", uses: ["WireGuardControl", "NetworkTypes"]),
    engineTests(
      "WireGuardDataPathTests",
      uses: [
        "CConfined", "CFaultyCipher", "CTransportCipher", "CWireGuardIO", "WireGuardControl", "WireGuardDataPath", "WireGuardEngine",
        "KeyMemory", "LinuxIO", "NetworkTypes", "SeededRandom", "TestSupport", "roamward-wireguard",
      ],
      resources: ["interoperation.bash"]),
    .target(name: "CTunDevice", path: "Packages/Provider/Tests/CTunDevice", cSettings: strictC),
    providerTests("ProviderProtocolTests", uses: ["JSON", "NetworkTypes", "ProviderProtocol", "SeededRandom"]),
    providerTests(
      "RoamwardProviderTests",
      uses: [
        "CTunDevice", "JSON", "LinuxIO", "NetworkTypes", "PlainUDP", "ProviderProtocol", "RoamwardProvider", "RoamwardProviderTesting",
        "TestSupport", "plain-udp",
      ]),
    providerTests(
      "ExampleProviderTests",
      uses: [
        "BestVPN", "JSON", "NetworkTypes", "ProviderProtocol", "RoamwardProvider", "RoamwardProviderTesting", "SeededRandom",
        "SimpleTunnel",
      ]),
    tests("WireTests", uses: ["Wire", "WireGuardControl", "KeyMemory", "NetworkTypes", "KernelModel", "RoamwardCore", "SeededRandom"]),
    tests(
      "KernelNetworkTests",
      uses: ["LinuxIO", "KernelNetwork", "KeyMemory", "NetworkTypes", "KernelModel", "RoamwardCore", "TestSupport", "Wire"]),
    tests("LintTests", uses: ["PolicyLint", "NetworkTypes", "RoamwardCore", "TestKit", "SeededRandom"]),
  ]
)
