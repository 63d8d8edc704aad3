// swift-tools-version: 6.2
import PackageDescription

// The engine alone: to build, test and measure it without the rest of the repository. Other packages depend on the repository itself,
// whose manifest builds the same sources and has the same library (README.md). The settings are those of the manifest there.

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

let strictC: [CSetting] = [
  .enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error),
  .define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release)),
]

func target(_ name: String, uses: [Target.Dependency] = [], links: [LinkerSetting] = []) -> Target {
  .target(name: name, dependencies: uses, swiftSettings: strict, linkerSettings: links)
}

func tests(_ name: String, uses: [Target.Dependency], resources: [String] = []) -> Target {
  .testTarget(name: name, dependencies: uses, exclude: resources, swiftSettings: strict)
}

let package = Package(
  name: "wireguard",
  products: [
    .library(name: "WireGuardEngine", targets: ["WireGuardEngine", "NetworkTypes"]),
    .executable(name: "roamward-wireguard", targets: ["roamward-wireguard"]),
    .executable(name: "wireguard-bench", targets: ["wireguard-bench"]),
  ],
  targets: [
    // Links to sources that the agent shares: Sources of the repository (docs/decisions/0019).
    target("NetworkTypes"),
    target("KeyMemory", uses: ["CSodium"]),
    target("LinuxIO", uses: ["NetworkTypes", "CLinux"]),
    target("ProcessConfinement", uses: ["LinuxIO", "CConfinement"]),
    .target(name: "CConfinement", cSettings: strictC, linkerSettings: [.linkedLibrary("seccomp")]),
    .target(name: "CLinux", cSettings: strictC),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),

    .target(name: "CTransportCipher", cSettings: strictC),
    // Loads Intel's and OpenSSL's ChaCha20-Poly1305 where they are installed.
    .target(name: "CCipherLibraries", dependencies: ["CTransportCipher"], cSettings: strictC),
    .systemLibrary(name: "CBlake2", providers: [.apt(["libb2-dev"])]),
    .target(name: "CWireGuardIO", cSettings: strictC),
    .target(name: "CWireGuardConfinement", dependencies: ["CConfinement", "CWireGuardIO"], cSettings: strictC),
    // Of libb2 what is needed is linked in: the shared library brings libgomp.
    target(
      "WireGuardEngine", uses: ["NetworkTypes", "KeyMemory", "CSodium", "CBlake2", "CTransportCipher"], links: [.linkedLibrary(":libb2.a")]),
    target("WireGuardControl", uses: ["NetworkTypes", "LinuxIO", "CWireGuardIO"]),
    target(
      "WireGuardDataPath",
      uses: [
        "NetworkTypes", "KeyMemory", "LinuxIO", "ProcessConfinement", "WireGuardControl", "WireGuardEngine", "CWireGuardConfinement",
        "CWireGuardIO", "CCipherLibraries", "CTransportCipher", "CSodium",
      ]),
    .executableTarget(
      name: "roamward-wireguard", dependencies: ["WireGuardControl", "WireGuardDataPath", "LinuxIO"], swiftSettings: strict),

    .target(name: "CMallocCount", path: "Benchmarks/CMallocCount", cSettings: strictC),
    .executableTarget(
      name: "wireguard-bench",
      dependencies: ["CMallocCount", "KeyMemory", "NetworkTypes", "WireGuardDataPath", "WireGuardEngine"],
      path: "Benchmarks/wireguard-bench", swiftSettings: strict),

    // Links as well.
    .target(name: "SeededRandom", path: "Tests/SeededRandom", swiftSettings: strict),
    .target(name: "CNamespace", path: "Tests/CNamespace", cSettings: strictC),
    .target(name: "CConfined", path: "Tests/CConfined", cSettings: strictC),
    .target(
      name: "TestSupport", dependencies: ["CLinux", "LinuxIO", "NetworkTypes", "CNamespace"], path: "Tests/TestSupport",
      swiftSettings: strict),

    .target(name: "CFaultyCipher", dependencies: ["CCipherLibraries"], path: "Tests/CFaultyCipher", cSettings: strictC),
    tests(
      "WireGuardEngineTests",
      uses: [
        "CCipherLibraries", "CTransportCipher", "WireGuardEngine", "KeyMemory", "CSodium", "NetworkTypes", "TestSupport", "SeededRandom",
      ]),
    tests("WireGuardControlTests", uses: ["WireGuardControl", "NetworkTypes"]),
    tests(
      "WireGuardDataPathTests",
      uses: [
        "CConfined", "CFaultyCipher", "CTransportCipher", "CWireGuardIO", "WireGuardControl", "WireGuardDataPath", "WireGuardEngine",
        "KeyMemory", "LinuxIO", "NetworkTypes", "SeededRandom", "TestSupport", "roamward-wireguard",
      ],
      resources: ["interoperation.bash"]),
  ]
)
