import GatewayHost
import GatewaySource
import LinuxIO
import TestSupport
import Testing

/// Each file with settings of one gateway is in its manual page.
@Suite struct SettingFileTests {
  @Test("each file of settings is in the manual page, with the key that commands set", arguments: SettingFile.allCases)
  func documented(setting: SettingFile) throws {
    let page = String(decoding: try TextFile.read("\(GatewayScene.root)/docs/man/roamward-gateway.8.md"), as: UTF8.self)
    let row = page.split(separator: "\n").first { $0.hasPrefix("| /var/lib/roamward-gateway/\(setting.rawValue) |") }
    let text = try #require(row, "\(setting.rawValue) is not under FILES")
    #expect(text.contains("`set \(setting.key.joined(separator: "."))`"), "\(text)")
  }

  @Test("each setting is used in a scene, by the command or in a file", arguments: SettingFile.allCases) func used(setting: SettingFile) {
    let folder = "\(GatewayScene.root)/Tests/Gateway/GatewayServeTests/Scenes"
    let texts = Folder.names(in: folder).compactMap { (try? TextFile.read("\(folder)/\($0)")).map { String(decoding: $0, as: UTF8.self) } }
    let (key, last) = (setting.key.joined(separator: "."), setting.key.last ?? "")
    let isUsed = texts.contains { $0.contains("set \(key)") || $0.contains("\n  \(last):") || $0.contains("{ \(last):") }
    #expect(isUsed, "no scene has `set \(key)`")
  }

  @Test("a setting is a file, and none with nil") func set() throws {
    let place = try TemporaryFolder()
    let folder = StateFolder(place.path)
    for setting in SettingFile.allCases {
      try folder.set(setting, to: "7\n")
      #expect(try TextFile.read("\(folder.path)/\(setting.rawValue)") == Array("7\n".utf8))
      try folder.set(setting, to: nil)
      try folder.set(setting, to: nil)
    }
    #expect(Folder.names(in: place.path).isEmpty)
  }
}
