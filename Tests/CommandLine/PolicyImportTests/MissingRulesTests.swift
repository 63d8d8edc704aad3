import PolicyFiles
import PolicySource
import RoamwardCore
import Testing

@testable import PolicyImport

/// Rules for files that have none, and a file in its own folder.
@Suite struct MissingRulesTests {
  private static let networks = OutputFile(
    name: "trusted-networks.yaml",
    bytes: Array("version: 1\nnetworks: { trusted: { gateway-mac: 02:00:5e:10:00:01 } }\n".utf8), isSecret: false)

  private static var options: ImportOptions {
    var options = ImportOptions(folder: "/p")
    options.rules = .everywhereBut(network: "trusted")
    options.beside = [networks]
    return options
  }

  @Test(
    "a file of each format is down on the trusted network, and up on any other",
    arguments: [("x.conf", Samples.wireGuard), ("x.ovpn", Samples.openVPN), ("x.nmconnection", Samples.nmWireGuard)])
  func rules(name: String, text: String) throws {
    let result = try importFile(Array(text.utf8), file: name, options: Self.options)
    let loaded = load(result.files + [Self.networks])
    let tunnel = try #require(loaded.policies.tunnels.first, "\(result.report.text)")
    #expect(!loaded.hasErrors && tunnel.isEnabled && tunnel.onDemand.rules.map(\.action) == [.disconnect, .connect])
    #expect(tunnel.onDemand.rules[0].match.networksNamed == ["trusted"])
    #expect(result.says(.plain, "down on the network `trusted`, and up on any other"))
  }

  @Test("a profile keeps its own rules, and without a choice a tunnel has none") func unchanged() throws {
    let own = try importFile(fixture("trusted-office.mobileconfig"), file: "f.mobileconfig", options: Self.options)
    let plain = try importFile(fixture("trusted-office.mobileconfig"), file: "f.mobileconfig", options: ImportOptions(folder: "/p"))
    #expect(own.files == plain.files)
    let manual = try importFile(Array(Samples.wireGuard.utf8), file: "x.conf", options: ImportOptions())
    #expect(try manual.tunnel().onDemand.rules.isEmpty && manual.says(.plain, "roamward up"))
  }

  @Test("a file in the folder of the output is used as it is, or copied if it cannot be", arguments: [true, false])
  func own(isUsable: Bool) throws {
    let hook = "PostUp = /usr/bin/logger started\n"
    let bytes = Array((isUsable ? Samples.wireGuard.replacing(hook, with: "") : Samples.wireGuard).utf8)
    var options = ImportOptions(folder: "/p")
    options.own = "work.conf"
    options.taken = ["work.conf"]
    let original = OutputFile(name: "work.conf", bytes: bytes, isSecret: true)
    options.beside = [original]
    let result = try importFile(bytes, file: "/p/work.conf", options: options)
    #expect(result.files.map(\.name) == (isUsable ? ["work.yaml"] : ["work-2.conf", "work.yaml"]))
    #expect(result.tunnels.map(\.usesImportedFile) == [isUsable])
    guard case .wireGuard(let provider)? = load(result.files + [original]).policies.tunnels.first?.provider else {
      Issue.record("no WireGuard: \(result.report.text)")
      return
    }
    #expect(provider.path == (isUsable ? "/p/work.conf" : "/p/work-2.conf"))
  }
}
