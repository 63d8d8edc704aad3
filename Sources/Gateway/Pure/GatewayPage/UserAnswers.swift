package import GatewayCore
package import JSON
import NetworkTypes

extension GatewayStatus {
  /// The devices that logged in, as `session list --json` prints them.
  package var sessionsJSON: JSON {
    let devices = directory.devices.values.filter { directory.login(of: $0.id) != nil }
    return .array(rows(of: devices).sorted { $0.path < $1.path }.map(\.json))
  }
}

extension UserReport {
  /// As `user show --json` prints it.
  package var json: JSON {
    let login: JSON = [
      "password": .bool(credential.map { !$0.password.isEmpty } ?? false), "must-change": .bool(credential?.mustChange ?? false),
      "code": .bool(credential.map { !$0.codeSecret.isEmpty } ?? false),
      "recovery-codes": .integer(Int64(credential?.recoveryHashes.count ?? 0)),
      "tokens": .array(tokens.map { ["token": .integer($0.id), "uses": .integer($0.uses), "until": time($0.until)] }),
    ]
    let locked: JSON =
      lock.map { ["time": time($0.time), "actor": .string($0.record.actor), "reason": .string($0.record.detail)] } ?? .null
    return [
      "user": user.name.json, "state": .string(state), "until": time(user.until), "locked": locked, "identity": JSON(user.subject),
      "login": login, "groups": .array(groups.map { ["group": $0.name.json, "precedence": .integer($0.precedence)] }),
      "role": page == nil ? .null : .string("\(role.role)"), "devices": .array(status.rows(of: devices).map(\.json)),
      "settings": .array(settings.map { ["setting": .string($0.name), "values": JSON($0.values), "from": .string($0.origin)] }),
      "rules": .array(rules.map { ["rule": $0.name.json, "text": .string(status.directory.text(of: $0))] }),
    ]
  }
}
