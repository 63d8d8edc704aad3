import AgentCore
import ControlProtocol
import JSON
import LinuxIO
import LinuxPlatform
import TestKit
import TestSupport
import Testing

@Suite("What a kill switch blocks, without an agent")
struct BlockedTrafficTests {
  private let folder: TemporaryFolder
  private let record: BlockedTrafficRecord
  private var path: String { folder.path + "/run/blocked.json" }

  init() throws {
    folder = try TemporaryFolder()
    record = BlockedTrafficRecord(path: folder.path + "/run/blocked.json", notice: LoginNotice(folder: folder.path + "/motd.d"))
  }

  @Test("is recorded with the notice, and read back; nothing is left of it when traffic flows")
  func roundTrip() throws {
    let status = FirewallStatus(situation: .guarded, guards: ["a not up", "corp", "lab"], blocking: ["a not up", "corp"])
    record.write(status)
    #expect(record.status == status)
    #expect(FileNature.exists(folder.path + "/motd.d"))
    record.write(FirewallStatus(situation: .guarded, guards: ["corp"], blocking: ["corp"]))
    #expect(record.status?.blocking == ["corp"])
    // Of one that was killed in the middle.
    try TextFile.create(path + TextFile.temporarySuffix, with: [], mode: 0o600)
    record.write(nil)
    #expect(record.status == nil && Folder.names(in: folder.path) == ["run"] && Folder.names(in: folder.path + "/run") == [])
  }

  @Test("what an earlier version recorded is read after an upgrade")
  func earlierVersion() throws {
    try Folder.make(folder.path + "/run", mode: 0o755)
    let text = """
      {"version":1,"firewall":{"situation":"guarded","guards":["corp","lab"],"blocking":["corp"],"until":null,"programs":null,"reason":null,\
      "lifetime":null}}
      """
    try TextFile.create(path, with: Array(text.utf8), mode: 0o644)
    #expect(record.status == FirewallStatus(situation: .guarded, guards: ["corp", "lab"], blocking: ["corp"]))
  }

  @Test(
    "is nothing where all that guards is up, or a person opened the firewall",
    arguments: [.open, .guarded, .portal, .released] as [FirewallStatus.Situation])
  func nothing(situation: FirewallStatus.Situation) {
    let blocking = situation == .guarded ? [] : ["corp"]
    record.write(FirewallStatus(situation: situation, guards: ["corp"], blocking: blocking))
    #expect(record.status == nil && !FileNature.exists(path))
  }

  @Test(
    "a record that cannot be used counts as none",
    arguments: ["", "{", "[]", "{}", "{\"firewall\":{}}", "{\"firewall\":{\"situation\":\"guarded\"}}"])
  func damaged(text: String) throws {
    try Folder.make(folder.path + "/run", mode: 0o755)
    try TextFile.create(path, with: Array(text.utf8), mode: 0o644)
    #expect(record.status == nil)
  }

  @Test("is said for people and as JSON, and what is not known is said to be so")
  func report() throws {
    let status = FirewallStatus(situation: .guarded, guards: ["corp", "lab"], blocking: ["corp", "lab"])
    let known = BlockedTraffic(recorded: status)
    #expect(known.text == "the kill switch blocks traffic, because corp, lab are not up")
    let json = try JSON(parsing: JSON(encoding: known.report(at: 7)).text().utf8)
    #expect(json["version"] == 1 && json["pid"] == .null && json["time"] == "1970-01-01T00:00:07.000Z")
    let firewall: JSON = [
      "situation": "guarded", "code": "traffic-blocked", "guards": ["corp", "lab"], "blocking": ["corp", "lab"],
    ]
    #expect(json["firewall"] == firewall)
    let unknown = BlockedTraffic(recorded: nil)
    #expect(unknown.text == "the kill switch blocks traffic: `nft list table inet roamward`")
    let firewallUnknown: JSON = ["situation": "guarded", "code": "traffic-blocked", "guards": .null, "blocking": .null]
    #expect(JSON(encoding: unknown.report(at: 7))["firewall"] == firewallUnknown)
  }
}
