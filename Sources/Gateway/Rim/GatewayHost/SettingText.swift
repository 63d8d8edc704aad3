package import GatewayCore
package import GatewaySource
internal import Glibc
package import LinuxIO

extension StateFolder {
  /// Whether the kernel's forwarding is enabled for the pools.
  package var forwards: Bool { access(path(of: .forwarding), F_OK) != 0 }

  package func path(of setting: SettingFile) -> String { "\(path)/\(setting.rawValue)" }

  /// Replaces the settings in a file; `nil`: removes the file. A running gateway learns it by `announceChange`.
  package func set(_ setting: SettingFile, to text: String?) throws(SystemError) {
    if let text {
      try TextFile.replace(path(of: setting), with: Array(text.utf8), mode: 0o600)
    } else {
      try TextFile.remove(path(of: setting))
    }
  }
}

extension SettingFile {
  /// The text of the settings of a gateway; `nil`: there is no such file.
  package func text(in folder: StateFolder) throws(SystemError) -> String? {
    let path = folder.path(of: self)
    guard access(path, F_OK) == 0 else { return nil }
    return String(decoding: try TextFile.read(path, limit: 65_536), as: UTF8.self)
  }

  /// The change from its present text to another one; `nil`: no file.
  package func change(in folder: StateFolder, to text: String?) throws(SystemError) -> ChangeSummary {
    ChangeSummary(setting: subject, from: shown(try self.text(in: folder)), to: shown(text))
  }

  /// A text for people is one value, and no line of it a setting.
  private func shown(_ text: String?) -> String? {
    self == .banner ? text.map { "text " + $0.split(whereSeparator: \.isNewline).joined(separator: " / ") } : text
  }
}
