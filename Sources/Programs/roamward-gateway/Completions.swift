import ArgumentParser
import GatewayCore
import GatewayHost
import GatewaySource
import GatewayStore

/// The names that a shell completes. A shell waits for them after each tab, so nothing here prints an error: a person who may not read the
/// store gets none.
extension CompletionKind {
  static var users: CompletionKind { names { $0.users.values.map(\.name.description) } }
  static var groups: CompletionKind { names { $0.groups.values.map(\.name.description) } }
  static var devices: CompletionKind { names { directory in directory.devices.values.compactMap { directory.path(of: $0)?.description } } }
  static var rules: CompletionKind { names { $0.rules.values.map(\.name.description) } }

  /// Users and devices.
  static var holders: CompletionKind {
    names { directory in
      directory.users.values.map(\.name.description) + directory.devices.values.compactMap { directory.path(of: $0)?.description }
    }
  }

  /// Keys of settings, with the names that there are.
  static var settingKeys: CompletionKind {
    .custom { words, _, _ in
      let directory = directory(of: words)
      return SettingPath.all.flatMap { key -> [String] in
        guard key.hasSuffix(".") else { return [key] }
        let names: [String] =
          switch key {
          case "settings.groups.", "groups.", "logins.openid.groups.": directory?.groups.values.map(\.name.description) ?? []
          case "settings.users.", "users.": directory?.users.values.map(\.name.description) ?? []
          case "settings.devices.": directory?.devices.values.compactMap { directory?.path(of: $0)?.description } ?? []
          case "pools.": directory?.pools.values.map(\.name.description) ?? []
          default: []
          }
        return names.isEmpty
          ? [key] : names.sorted().map { SettingPath(key.dropLast().split(separator: ".").map(String.init) + [$0]).description }
      }
    }
  }

  private static func names(_ names: @escaping @Sendable (Directory) -> [String]) -> CompletionKind {
    .custom { words, _, _ in directory(of: words).map(names)?.sorted() ?? [] }
  }

  /// The store of the command line.
  private static func directory(of words: [String]) -> Directory? {
    var folder = StateFolder.standard
    for (i, word) in words.enumerated() {
      if word == "--state", i + 1 < words.count { folder = StateFolder(words[i + 1]) }
      if word.hasPrefix("--state=") { folder = StateFolder(String(word.dropFirst(8))) }
    }
    guard folder.mayRead else { return nil }
    return try? folder.known().view.directory
  }
}
