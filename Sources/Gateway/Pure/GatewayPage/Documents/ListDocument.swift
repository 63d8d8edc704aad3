package import GatewayCore
package import JSON
package import NetworkTypes

/// The lists of `roamward-gateway` for programs: a version, and the rows under the list's name.
package enum ListDocument: String, CaseIterable, Sendable {
  /// `user list`.
  case users
  /// `group list`.
  case groups
  /// `device list`.
  case devices
  /// `access list`.
  case rules
  /// `user list --tokens`.
  case tokens

  package func json(of directory: Directory, at now: Timestamp) -> JSON {
    let rows =
      switch self {
      case .users: JSON(encoding: directory.userRows(at: now))
      case .groups: JSON(encoding: directory.groupRows)
      case .devices: JSON(encoding: directory.deviceRows(at: now))
      case .rules: JSON(encoding: directory.ruleRows)
      case .tokens: JSON(encoding: directory.tokenRows(at: now))
      }
    return ["version": JSON(encoding: DocumentVersion()), rawValue: rows]
  }

  static var title: String {
    let commands =
      ["user", "group", "device", "access"].map { "`roamward-gateway \($0) list --json`" }
      + ["`roamward-gateway user list --tokens --json`"]
    return "What \(commands.joined(separator: ", ")) print."
  }

  /// Of any of them.
  static func schema() throws -> JSON { ["anyOf": .array(try allCases.map { try $0.schema() })] }

  private func schema() throws -> JSON {
    let (about, rows) =
      switch self {
      case .users: ("The users, sorted by name.", try JSON.schema(of: [UserRow].self))
      case .groups: ("The groups, by precedence.", try JSON.schema(of: [GroupRow].self))
      case .devices: ("The devices, sorted by user and name.", try JSON.schema(of: [DeviceRow].self))
      case .rules: ("The rules of access, in their order.", try JSON.schema(of: [RuleRow].self))
      case .tokens: ("The one-time tokens.", try JSON.schema(of: [TokenRow].self))
      }
    func described(_ schema: JSON, _ text: String) -> JSON {
      .object((schema.members ?? []) + [JSON.Member(key: "description", value: .string(text))])
    }
    return [
      "type": "object",
      "properties": [
        "version": described(try JSON.schema(of: DocumentVersion.self), "The version of this document."), rawValue: described(rows, about),
      ],
      "required": .array(["version", .string(rawValue)]),
    ]
  }
}

private struct UserRow: Codable {
  var user: String
  var state: String
  var until: Timestamp?
  var groups: [String]
  var devices: [String]

  private enum CodingKeys: String, DescribedKey {
    case user, state, until, groups, devices

    var about: String {
      switch self {
      case .user: "The name of the user."
      case .state: "Whether the user may connect."
      case .until: "The time at which the account ends; null: it does not."
      case .groups: "The names of the user's groups."
      case .devices: "The names of the user's devices."
      }
    }

    var values: [String]? { self == .state ? ["active", "locked", "expired"] : nil }
  }
}

private struct GroupRow: Codable {
  var group: String
  var precedence: Int64
  var users: [String]

  private enum CodingKeys: String, DescribedKey {
    case group, precedence, users

    var about: String {
      switch self {
      case .group: "The name of the group."
      case .precedence: "Its precedence: settings of the group with the smaller number win."
      case .users: "The names of its users."
      }
    }
  }
}

private struct DeviceRow: Codable {
  var device: String
  var addresses: [IPAddress]
  var state: String

  private enum CodingKeys: String, DescribedKey {
    case device, addresses, state

    var about: String {
      switch self {
      case .device: "The user and the name of the device."
      case .addresses: "Its addresses in the pools."
      case .state: "Whether the device may connect."
      }
    }

    var values: [String]? { self == .state ? ["active", "session-ended", "refused"] : nil }
  }
}

private struct RuleRow: Codable {
  var rule: String
  var allow: Bool
  var from: String
  var to: [String]
  var `protocol`: String
  var ports: [String]
  var declared: String?

  private enum CodingKeys: String, DescribedKey {
    case rule, allow, from, to, `protocol`, ports, declared

    var about: String {
      switch self {
      case .rule: "The name of the rule."
      case .allow: "Whether packets that match are allowed."
      case .from: "The users whom it concerns: everybody, user:NAME or group:NAME."
      case .to: "The destinations: prefixes, group:NAME (its devices) or everything."
      case .protocol: "The protocol."
      case .ports: "The ports; none are all."
      case .declared: "The file and line that declare it; null: a command made it."
      }
    }

    var values: [String]? { self == .protocol ? ["any", "tcp", "udp", "icmp"] : nil }
  }
}

private struct TokenRow: Codable {
  var token: Int64
  var user: String
  var uses: Int64
  var until: Timestamp
  var valid: Bool

  private enum CodingKeys: String, DescribedKey {
    case token, user, uses, until, valid

    var about: String {
      switch self {
      case .token: "The number of the token, as `token revoke` takes it."
      case .user: "The user who logs in with it."
      case .uses: "The number of logins that it has left."
      case .until: "The time at which it ends."
      case .valid: "Whether it logs in now."
      }
    }
  }
}

extension Directory {
  fileprivate func userRows(at now: Timestamp) -> [UserRow] {
    users.values.sorted { $0.name < $1.name }.map { user in
      UserRow(
        user: "\(user.name)", state: user.state(at: now), until: user.until, groups: groups(of: user.id).map { "\($0.name)" },
        devices: devices(of: user.id).map { "\($0.name)" })
    }
  }

  fileprivate var groupRows: [GroupRow] {
    let names = Dictionary(grouping: members.values, by: \.group).mapValues { $0.compactMap { users[$0.user]?.name }.sorted() }
    return groups.values.sorted { ($0.precedence, $0.name) < ($1.precedence, $1.name) }.map { group in
      GroupRow(group: "\(group.name)", precedence: group.precedence, users: (names[group.id] ?? []).map(\.description))
    }
  }

  fileprivate func deviceRows(at now: Timestamp) -> [DeviceRow] {
    devices.values.compactMap { device in path(of: device).map { ($0, device) } }.sorted { $0.0 < $1.0 }.map { path, device in
      DeviceRow(
        device: "\(path)", addresses: addresses(of: device.id),
        state: isActive(device, at: now) ? "active" : hasEnded(device) ? "session-ended" : "refused")
    }
  }

  fileprivate var ruleRows: [RuleRow] {
    let places = Dictionary(sortedRules.map { ($0.name, marks.place(of: $0)) }) { first, _ in first }
    return (Declaration(of: self).rules?.value ?? []).map(\.value).map { rule in
      RuleRow(
        rule: "\(rule.name)", allow: rule.isAllowing, from: "\(rule.source)", to: rule.destination.words, protocol: rule.transport.rawValue,
        ports: rule.ports.map(\.description), declared: places[rule.name] ?? nil)
    }
  }

  fileprivate func tokenRows(at now: Timestamp) -> [TokenRow] {
    tokens.values.sorted { $0.id < $1.id }.map { token in
      TokenRow(
        token: token.id, user: users[token.user]?.name.description ?? "", uses: token.uses, until: token.until,
        valid: token.isValid(at: now))
    }
  }
}

extension Declaration.Goal {
  fileprivate var words: [String] {
    switch self {
    case .everything: ["everything"]
    case .prefixes(let prefixes): prefixes.map(\.description)
    case .group(let name): ["group:\(name)"]
    }
  }
}
