package import GatewayCore
import GatewayLogin
import PolicySource

/// A change of a setting of which no file of the gateway says anything.
package struct UndeclaredChange: Sendable {
  /// The parts that change, and nothing else.
  package private(set) var file = GatewayFile()
  /// The owners whose settings are gone.
  package private(set) var cleared: [Declaration.Scope] = []
  /// Whether there are no logins any more, and their key is gone too.
  package private(set) var forgetsLogins = false

  /// The keys that commands set. For the others there are commands of their own, or files.
  private static let known: Set = ["gateway", "pools", "settings", "logins", "relay", "page", "store"]

  /// - Parameters:
  ///   - present: the whole gateway, as files would declare it.
  ///   - fails: takes the diagnostics of a value that cannot be read.
  package init(
    _ edit: SettingEdit, of present: GatewayFile
  ) throws(SettingFault) {
    let first = edit.path.keys[0]
    guard Self.known.contains(first) else {
      let commands = ["users": "user", "groups": "group", "access": "access"]
      throw SettingFault(
        "no file of this gateway declares \(first)",
        help: commands[first].map { "`roamward-gateway \($0) --help` shows the commands that change them" } ?? "write a file with it")
    }
    if first == "gateway", edit.act == .remove, edit.path.keys.count == 1 || edit.path.keys[1] == "endpoint" {
      throw SettingFault("a gateway has an endpoint", help: "set another one")
    }
    let name = "the present settings"
    var text = EditedFile(path: name, text: present.text)
    try text.apply(edit)
    let parsed = readGatewayFile(name, bytes: Array(text.text.utf8))
    if let error = parsed.diagnostics.first(where: { $0.severity == .error }) {
      throw SettingFault("\(edit.path): \(error.message)", help: error.help ?? "docs/gateway-reference.md has all keys")
    }
    take(parsed.file, first, edit, present)
  }

  private mutating func take(_ new: GatewayFile, _ key: String, _ edit: SettingEdit, _ present: GatewayFile) {
    let nowhere = DeclaredPlace(file: "", line: 1, column: 1)
    func or<Value>(_ value: Declaration.Placed<Value>?, _ usual: Value) -> Declaration.Placed<Value> {
      value ?? Declaration.Placed(usual, at: nowhere)
    }
    switch key {
    case "gateway":
      file.declaration.site = new.declaration.site
      takeHost(new.host, key, edit)
    case "pools": file.declaration.pools = or(new.declaration.pools, [])
    case "settings":
      let old = present.declaration.settings.map(\.value)
      file.declaration.settings = new.declaration.settings.filter { !old.contains($0.value) }
      let kept = Set(new.declaration.settings.map(\.value.scope))
      cleared = old.map(\.scope).filter { !kept.contains($0) }
    default: takeHost(new.host, key, edit)
    }
  }

  /// Of settings within a key, those stay that are not named: they may have been off with their key.
  private mutating func takeHost(_ new: HostSettings, _ key: String, _ edit: SettingEdit) {
    let nowhere = DeclaredPlace(file: "", line: 1, column: 1)
    let isWhole = edit.path.keys.count == 1
    if key == "logins" {
      forgetsLogins = edit.act == .remove && isWhole
      file.host.logins = new.logins ?? Declaration.Placed(false, at: nowhere)
    }
    for setting in SettingFile.allCases where setting.key[0] == key {
      let isNamed =
        isWhole
        ? setting.key.count == 1 || edit.replaces || edit.act == .remove && key != "logins" : setting.key[1...].first == edit.path.keys[1]
      if setting.key.count > 1, !isNamed, new.texts[setting]?.value == nil { continue }
      file.host.texts[setting] = new.texts[setting] ?? Declaration.Placed(nil, at: nowhere)
    }
  }
}
