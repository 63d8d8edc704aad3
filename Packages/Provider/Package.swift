// swift-tools-version: 6.2
import PackageDescription

// The library for providers alone: to build and test it without the rest of the repository. Other packages depend on the repository itself,
// whose manifest builds the same sources and has the same libraries (README.md). The settings are those of the manifest there.

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

let safe: [SwiftSetting] = strict + [.strictMemorySafety()]

let strictC: [CSetting] = [
  .enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error),
  .define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release)),
]

let package = Package(
  name: "provider",
  products: [
    .library(name: "RoamwardProvider", targets: ["RoamwardProvider", "ProviderProtocol", "NetworkTypes", "JSON"]),
    .library(name: "RoamwardProviderTesting", targets: ["RoamwardProviderTesting"]),
  ],
  targets: [
    // Links to sources that the agent shares: Sources of the repository (docs/decisions/0031).
    .target(name: "NetworkTypes", swiftSettings: safe),
    .target(name: "JSON", dependencies: ["NetworkTypes", "CJansson"], swiftSettings: safe),
    .target(name: "LinuxIO", dependencies: ["NetworkTypes", "CLinux"], swiftSettings: strict),
    .target(name: "CLinux", cSettings: strictC),
    .systemLibrary(name: "CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"])]),

    .target(name: "ProviderProtocol", dependencies: ["JSON", "NetworkTypes"], swiftSettings: safe),
    .target(name: "CProviderIO", cSettings: strictC),
    .target(
      name: "RoamwardProvider", dependencies: ["CLinux", "CProviderIO", "JSON", "LinuxIO", "NetworkTypes", "ProviderProtocol"],
      swiftSettings: strict),
    .target(
      name: "RoamwardProviderTesting", dependencies: ["JSON", "NetworkTypes", "ProviderProtocol", "RoamwardProvider"],
      swiftSettings: strict),

    // The examples.
    .target(
      name: "PlainUDP", dependencies: ["JSON", "NetworkTypes", "ProviderProtocol", "RoamwardProvider"],
      path: "Examples/plain-udp/PlainUDP", swiftSettings: strict),
    .executableTarget(
      name: "plain-udp", dependencies: ["PlainUDP", "RoamwardProvider"], path: "Examples/plain-udp/plain-udp", swiftSettings: strict),

    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .target(
      name: "BestVPN", dependencies: ["CSodium", "JSON", "NetworkTypes", "ProviderProtocol", "RoamwardProvider"],
      path: "Examples/bestvpn/BestVPN", swiftSettings: strict),
    .executableTarget(
      name: "bestvpn-provider", dependencies: ["BestVPN", "RoamwardProvider"], path: "Examples/bestvpn/bestvpn-provider",
      swiftSettings: strict),
    .target(
      name: "SimpleTunnel", dependencies: ["JSON", "NetworkTypes", "ProviderProtocol", "RoamwardProvider"],
      path: "Examples/simpletunnel/SimpleTunnel", swiftSettings: strict),
    .executableTarget(
      name: "simpletunnel-provider", dependencies: ["RoamwardProvider", "SimpleTunnel"],
      path: "Examples/simpletunnel/simpletunnel-provider", swiftSettings: strict),

    .target(name: "CTunDevice", path: "Tests/CTunDevice", cSettings: strictC),

    // Links as well.
    .target(name: "SeededRandom", path: "Tests/SeededRandom", swiftSettings: strict),
    .target(name: "CNamespace", path: "Tests/CNamespace", cSettings: strictC),
    .target(
      name: "TestSupport", dependencies: ["CLinux", "LinuxIO", "NetworkTypes", "CNamespace"], path: "Tests/TestSupport",
      swiftSettings: strict),

    .testTarget(
      name: "ProviderProtocolTests", dependencies: ["JSON", "NetworkTypes", "ProviderProtocol", "SeededRandom"], swiftSettings: strict),
    .testTarget(
      name: "RoamwardProviderTests",
      dependencies: [
        "JSON", "LinuxIO", "NetworkTypes", "PlainUDP", "ProviderProtocol", "RoamwardProvider", "RoamwardProviderTesting", "TestSupport",
        "CTunDevice", "plain-udp",
      ], swiftSettings: strict),
    .testTarget(
      name: "ExampleProviderTests",
      dependencies: [
        "BestVPN", "JSON", "NetworkTypes", "ProviderProtocol", "RoamwardProvider", "RoamwardProviderTesting", "SeededRandom",
        "SimpleTunnel",
      ], swiftSettings: strict),
  ]
)
