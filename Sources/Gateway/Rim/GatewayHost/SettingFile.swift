package import GatewayCore
internal import Glibc
package import LinuxIO

/// A file with settings of this gateway alone: the store, which several gateways may have, is without it.
///
/// By test, the manual page has each file with its command, and a scene runs the command.
package enum SettingFile: String, CaseIterable, Sendable {
  /// The OpenID provider at which people sign in.
  case openID = "openid"
  /// The PAM service that checks passwords.
  case pam
  /// The text that people see when they log in.
  case banner
  /// The address of relays.
  case relay
  /// The address of the page.
  case page
  /// The age of the last reading of the store at which all devices are disconnected.
  case staleAfter = "stale-after"

  /// The command that writes the file; `nil`: an administrator does.
  package var command: String? {
    switch self {
    case .openID: "login openid enable"
    case .pam: "login pam enable"
    case .banner: nil
    case .relay: "relay enable"
    case .page: "web enable"
    case .staleAfter: "store stale-after"
    }
  }

  /// The setting's name in messages about a gateway that has not taken it yet; `nil`: the file is read at each use.
  var nameOfTaken: String? {
    switch self {
    case .openID: "OpenID"
    case .pam: "PAM"
    case .relay, .page: rawValue
    case .banner, .staleAfter: nil
    }
  }
}

extension StateFolder {
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

  /// The subject of its changes.
  private var subject: String {
    switch self {
    case .openID: "sign-ins at an OpenID provider"
    case .pam: "passwords by PAM"
    case .banner: "banner"
    case .relay: "relay, TCP port"
    case .page: "page"
    case .staleAfter: "seconds without the store until all sessions end"
    }
  }

  /// Its change in the audit log, where `login` is what a person does.
  package func verb(isSet: Bool) -> String { "\(rawValue) \(isSet ? "set" : "remove")" }
}
