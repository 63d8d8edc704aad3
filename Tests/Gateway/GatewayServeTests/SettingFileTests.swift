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
