// swift-tools-version: 6.2
import PackageDescription

// As the package of somebody else. The test that builds it says where the engine comes from; the last part of the URL is the package's
// name.
guard let repository = Context.environment["ROAMWARD_REPOSITORY"] else {
  fatalError("ROAMWARD_REPOSITORY is the URL of roamward's repository")
}

let package = Package(
  name: "handshake",
  dependencies: [.package(url: repository, branch: "main")],
  targets: [.executableTarget(name: "handshake", dependencies: [.product(name: "WireGuardEngine", package: "roamward")])]
)
