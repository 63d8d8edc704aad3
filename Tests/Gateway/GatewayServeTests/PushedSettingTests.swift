import GatewayCore
import GatewaySource
import JSON
import KernelModel
import LinuxIO
import LoginProtocol
import NetworkTypes
import TestKit
import TestSupport
import Testing

@testable import GatewayHost

/// Each setting that the gateway pushes to clients reaches them, also one that is added later.
@Suite struct PushedSettingTests {
  /// A setting, by the name of its property, with a value and what carries it.
  struct Setting: CustomStringConvertible {
    let name: String
    /// Whether a file of a stock client has it.
    var isInClientFile = true
    let set: @Sendable (inout PushedSettings) -> Void

    var description: String { name }
  }

  /// A new setting does not pass before it is here.
  static let all = [
    Setting(name: "routes") { $0.routes = IPPrefix("10.20.0.0/16").map { [$0] } },
    Setting(name: "dns") { $0.dns = IPAddress("10.20.0.53").map { [$0] } },
    Setting(name: "search") { $0.search = DomainName("corp.example").map { [$0] } },
    Setting(name: "mtu") { $0.mtu = 1380 },
    Setting(name: "keepalive") { $0.keepalive = 21 },
  ]

  private func directory(with settings: PushedSettings?) throws -> (Directory, Device) {
    var work = Administration(Directory(), lastID: 0, actor: "root", now: 1_000_000)
    let key = try #require(WireGuardKey(bytes: [UInt8](repeating: 7, count: 32)))
    let user = try #require(GatewayName("alice"))
    work.setSite(try #require(Endpoint("192.0.2.1:51820")), publicKey: key, link: try #require(InterfaceName("wg-gateway")))
    try work.addPool(try #require(GatewayName("main")), try #require(IPPrefix("10.77.0.0/24")), isTranslated: false)
    try work.addUser(user)
    let path = try #require(DevicePath("alice/phone"))
    try work.addDevice(path, publicKey: try #require(WireGuardKey(bytes: [UInt8](repeating: 9, count: 32))))
    if let settings { try work.change(settings, for: .everybody, named: "everybody") }
    return (work.directory, try #require(work.directory.device(at: path)))
  }

  @Test("all settings are tested here") func complete() {
    #expect(Self.all.map(\.name) == Mirror(reflecting: PushedSettings()).children.compactMap(\.label))
  }

  @Test("it is kept, shown, taken from a wider scope, and sent to clients", arguments: all) func carried(setting: Setting) throws {
    var settings = PushedSettings()
    setting.set(&settings)
    #expect(settings != PushedSettings() && settings.entries.map(\.name) == [setting.name])
    #expect(PushedSettings().completed(by: settings) == settings)
    let row = Settings(id: 1, scope: .everybody, pushed: settings)
    #expect(row.values.count == Settings.table.columns.count)
    #expect(try Settings(id: 1, values: row.values) == row)
    let (with, device) = try directory(with: settings)
    let (without, other) = try directory(with: nil)
    let grant = try #require(LoginGrant(with, device))
    #expect(grant != LoginGrant(without, other), "GrantOfDevice.swift does not take it")
    guard case .done(let read) = try GatewayMessage(GatewayMessage.done(grant).frame) else { throw GatewayError.notInitialised }
    #expect(read == grant)
    let isInFile = try ClientFile(with, device).text(privateKey: "") != ClientFile(without, other).text(privateKey: "")
    #expect(isInFile == setting.isInClientFile)
  }

  @Test("`set` has a key for it, whose value is taken", arguments: all) func settable(setting: Setting) throws {
    var settings = PushedSettings()
    setting.set(&settings)
    let values = try #require(settings.entries.first?.values)
    let path = try SettingPath("settings.everybody.\(setting.name)")
    let change = try UndeclaredChange(SettingEdit(path, .set(values)), of: GatewayFile())
    #expect(change.file.declaration.settings.map(\.value.pushed) == [settings])
  }

  @Test("each field of the message is in docs/wire-format.md") func format() throws {
    var settings = PushedSettings()
    for setting in Self.all { setting.set(&settings) }
    let (directory, device) = try directory(with: settings)
    let text = String(decoding: try TextFile.read("\(GatewayScene.root)/docs/wire-format.md"), as: UTF8.self)
    let start = try #require(text.firstRange(of: "\nDONE:\n"))
    let end = text[start.upperBound...].firstRange(of: "\n#")?.lowerBound ?? text.endIndex
    let table = text[start.upperBound..<end]
    let frame = GatewayMessage.done(try #require(LoginGrant(directory, device))).frame
    let tags = (3...UInt8.max).filter { frame[$0] != nil }
    #expect(tags.count > 8)
    for tag in tags { #expect(table.contains("\n| \(tag) | "), "the field \(tag) of DONE") }
  }
}
