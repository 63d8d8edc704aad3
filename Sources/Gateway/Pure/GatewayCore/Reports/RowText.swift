import NetworkTypes

/// A row in words: its subject, as `settings of everybody`, and each thing that it says of it.
struct RowText {
  var subject: String
  /// By title; an empty title is that of the row itself. Secrets are not among them.
  var parts: [(title: String, text: String)]

  /// The last word of the subject.
  var name: String { String(subject.split(separator: " ").last ?? "") }
}

extension RowText {
  /// The words of a row that the directory has; `nil`: the row is told with another one, as a lease is with its device.
  init?(_ row: AnyRow, in directory: Directory) {
    let names = RowNames(directory: directory)
    switch row {
    case .site(let site): self.init(subject: "gateway \(site.name)", parts: [("", "\(site.endpoint), link \(site.link)")])
    case .user(let user):
      self.init(
        subject: "user \(user.name)",
        parts: [("", user.isLocked ? "locked" : "active")]
          + [user.until.map { ("until", $0.description) }, user.subject.map { ("identity", $0) }].compactMap { $0 })
    case .group(let group): self.init(subject: "group \(group.name)", parts: [("", "precedence \(group.precedence)")])
    case .member(let member):
      self.init(subject: "group \(names.group(member.group))", parts: [("member \(names.user(member.user))", "")])
    case .device(let device):
      self.init(subject: "device \(names.path(device.id) ?? device.name.description)", parts: [("", names.addresses(of: device))])
    case .pool(let pool): self.init(subject: "pool \(pool.name)", parts: [("", names.text(of: pool))])
    case .lease, .declaration: return nil
    case .settings(let settings):
      self.init(
        subject: "settings of \(directory.text(of: settings.scope))",
        parts: settings.entries.map { ($0.name, $0.values.isEmpty ? "none" : $0.values.joined(separator: ", ")) })
    case .rule(let rule):
      // Without its name: `allow group staff to 10.0.0.0/8 tcp 443`.
      let text = directory.text(of: rule).split(separator: " \(rule.name): ", maxSplits: 1).joined(separator: " ")
      self.init(subject: "rule \(rule.name)", parts: [("", text)])
    case .credential(let credential): self.init(subject: "logins of \(names.user(credential.user))", parts: credential.words)
    case .token(let token):
      self.init(
        subject: "token \(token.id) of \(names.user(token.user))",
        parts: [("", "\(token.uses) use\(token.uses == 1 ? "" : "s"), until \(token.until)")])
    case .login(let login):
      self.init(
        subject: "session of \(names.path(login.device) ?? "(removed)")", parts: [("", login.ended == nil ? login.text : "ended")])
    }
  }
}

/// The names of what rows refer to.
private struct RowNames {
  let directory: Directory

  func user(_ id: Int64) -> String { directory.users[id]?.name.description ?? "(removed)" }
  func group(_ id: Int64) -> String { directory.groups[id]?.name.description ?? "(removed)" }
  func path(_ id: Int64) -> String? { directory.devices[id].flatMap { directory.path(of: $0) }?.description }

  func addresses(of device: Device) -> String {
    let all = directory.leases(of: device.id).map(\.address.description)
    return all.isEmpty ? "no address" : all.joined(separator: ", ")
  }

  func text(of pool: Pool) -> String {
    let place = pool.site.flatMap { directory.sites[$0]?.name.description } ?? "all gateways"
    return "\(pool.prefix)\(pool.isTranslated ? ", masquerade" : "")\(directory.sites.count > 1 ? ", at \(place)" : "")"
  }
}

extension Credential {
  /// That each secret is there, with a digest of none of them.
  fileprivate var words: [(title: String, text: String)] {
    [
      password.isEmpty ? nil : ("password", mustChange ? "set, to be changed at the next login" : "set"),
      codeSecret.isEmpty ? nil : ("one-time code", "asked for"),
      recoveryHashes.isEmpty ? nil : ("recovery codes", "\(recoveryHashes.count)"),
    ].compactMap { $0 }
  }

  /// The secrets that differ although their words are the same.
  fileprivate func replaced(by other: Credential) -> [String] {
    [
      !password.isEmpty && !other.password.isEmpty && password != other.password ? "password" : nil,
      !codeSecret.isEmpty && !other.codeSecret.isEmpty && codeSecret != other.codeSecret ? "one-time code" : nil,
      recoveryHashes.count == other.recoveryHashes.count && recoveryHashes != other.recoveryHashes ? "recovery codes" : nil,
    ].compactMap { $0 }
  }
}

extension AnyRow {
  /// The secrets and keys that differ from those of another row.
  func replaced(by other: AnyRow) -> [String] {
    switch (self, other) {
    case (.credential(let before), .credential(let after)): before.replaced(by: after)
    case (.device(let before), .device(let after)): before.publicKey == after.publicKey ? [] : ["key"]
    default: []
    }
  }
}
