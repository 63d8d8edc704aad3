import NetworkTypes

/// A user, with what decides on this user's access: state, logins, groups, devices, settings, rules.
package struct UserReport: Hashable, Sendable {
  package let user: User
  package let status: GatewayStatus
  /// The entry of the audit log by which the user was locked; `nil`: not locked, or the log cannot be read.
  package let lock: AuditEntry?
  /// The settings of the page; `nil`: there is none.
  package let page: PageSettings?

  package init(_ user: User, _ status: GatewayStatus, lock: AuditEntry?, page: PageSettings?) {
    self.user = user
    self.status = status
    self.lock = lock
    self.page = page
  }

  private var directory: Directory { status.directory }

  /// The state's word: `active`, `locked` or `expired`.
  package var state: String { user.state(at: status.now) }

  package var groups: [Group] { directory.groups(of: user.id) }
  package var devices: [Device] { directory.devices(of: user.id) }

  /// The user's role on the page, and the group that gives it.
  package var role: (role: PageRole, group: GatewayName?) { directory.role(of: user.id, in: page) }

  /// The tokens that still log in.
  package var tokens: [EnrolmentToken] {
    directory.tokens.values.filter { $0.user == user.id && $0.isValid(at: status.now) }.sorted { $0.id < $1.id }
  }

  package var credential: Credential? { directory.credential(of: user.id) }

  /// The rules of access about this user, in the order of their evaluation.
  package var rules: [AccessRule] { directory.sortedRules.filter { $0.concerns(user: user.id, in: directory) } }

  /// The settings of all devices of the user, then those that a device has of its own.
  package var settings: [SettingOrigin] {
    directory.settingOrigins(of: user) + devices.flatMap { directory.ownSettings(of: $0) }
  }

  package var lines: [String] {
    let sessions = status.sessions(of: devices)
    return ["user  \(user.name)  \(stateText)"] + (user.subject.map { ["identity  \($0)"] } ?? []) + ["login  \(loginText)"]
      + groups.map { "group  \($0.name)  precedence \($0.precedence)" }
      + (role.group.map { ["page  \(role.role) (group \($0))"] } ?? [])
      + status.lines(of: devices).map { "device  \($0)" } + sessions.map { "session  \($0.path)  \($0.login.text)" }
      + settings.map { "setting  \($0.line)" } + rules.map { "rule  \(directory.text(of: $0))" }
  }

  private var stateText: String {
    if user.isLocked, let lock {
      let reason = lock.record.detail.isEmpty ? "" : ": \(lock.record.detail)"
      return "locked since \(lock.time) by \(lock.record.actor)\(reason)"
    }
    guard let until = user.until else { return state }
    return "\(state) \(state == "expired" ? "since" : "until") \(until)"
  }

  private var loginText: String {
    // The replica of a store that is away has no credentials.
    if status.away != nil { return "not known while the store is away" }
    var ways: [String] = []
    if let credential, !credential.password.isEmpty { ways.append(credential.mustChange ? "password (to be changed)" : "password") }
    if let credential, !credential.codeSecret.isEmpty {
      let left = credential.recoveryHashes.count
      ways.append("one-time code" + (left > 0 ? " (\(left) recovery code\(left == 1 ? "" : "s"))" : ""))
    }
    ways += tokens.map { "token \($0.id) (\($0.uses) use\($0.uses == 1 ? "" : "s"))" }
    return ways.isEmpty ? "no password and no token" : ways.joined(separator: ", ")
  }
}
