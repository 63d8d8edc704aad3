package import GatewayCore
package import JSON
package import NetworkTypes

/// The output of `roamward-gateway user show --json`.
package struct UserDocument: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var user: String
  package var state: String
  package var until: Timestamp?
  package var locked: Lock?
  package var identity: String?
  package var login: Login
  package var groups: [Group]
  package var role: String?
  package var devices: [DeviceReport]
  package var settings: [Setting]
  package var rules: [Rule]

  private enum CodingKeys: String, DescribedKey {
    case version, user, state, until, locked, identity, login, groups, role, devices, settings, rules

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .user: "The name of the user."
      case .state: "Whether the user may connect."
      case .until: "The time at which the account ends; null: it does not."
      case .locked: "The lock of the account; null: it is not locked, or the audit log cannot be read."
      case .identity: "The person elsewhere whom the user is: the issuer and the subject; null: none."
      case .login: "The ways in which the user can log in."
      case .groups: "The groups of the user, by precedence."
      case .role: "The role on the page; null: there is no page."
      case .devices: "The devices of the user, sorted by name."
      case .settings: "The settings that the devices get, with their origins."
      case .rules: "The rules of access that concern the user, in the order of their evaluation."
      }
    }

    var values: [String]? {
      switch self {
      case .state: ["active", "locked", "expired"]
      default: nil
      }
    }
  }
}

extension UserDocument {
  /// The lock of an account.
  package struct Lock: Hashable, Sendable, Codable {
    package var time: Timestamp
    package var actor: String
    package var reason: String

    private enum CodingKeys: String, DescribedKey {
      case time, actor, reason

      var about: String {
        switch self {
        case .time: "The time at which the account was locked."
        case .actor: "The administrator who locked it, as the audit log has it."
        case .reason: "The reason that was given; empty: none."
        }
      }
    }
  }

  /// The ways in which a user can log in.
  package struct Login: Hashable, Sendable, Codable {
    package var password: Bool
    package var mustChange: Bool
    package var code: Bool
    package var recoveryCodes: Int
    package var tokens: [Token]

    private enum CodingKeys: String, DescribedKey {
      case password, code, tokens
      case mustChange = "must-change"
      case recoveryCodes = "recovery-codes"

      var about: String {
        switch self {
        case .password: "Whether the user has a password."
        case .mustChange: "Whether the next login has to change the password."
        case .code: "Whether a one-time code is required."
        case .recoveryCodes: "The number of recovery codes that are left."
        case .tokens: "The tokens that still log in."
        }
      }
    }
  }

  /// A token that still logs in.
  package struct Token: Hashable, Sendable, Codable {
    package var token: Int64
    package var uses: Int64
    package var until: Timestamp

    private enum CodingKeys: String, DescribedKey {
      case token, uses, until

      var about: String {
        switch self {
        case .token: "The number of the token, as `token revoke` takes it."
        case .uses: "The number of logins that it has left."
        case .until: "The time at which it ends."
        }
      }
    }
  }

  /// A group of the user.
  package struct Group: Hashable, Sendable, Codable {
    package var group: String
    package var precedence: Int64

    private enum CodingKeys: String, DescribedKey {
      case group, precedence

      var about: String {
        switch self {
        case .group: "The name of the group."
        case .precedence: "Its precedence: settings of the group with the smaller number win."
        }
      }
    }
  }

  /// A setting that devices get.
  package struct Setting: Hashable, Sendable, Codable {
    package var setting: String
    package var values: [String]
    package var from: String

    private enum CodingKeys: String, DescribedKey {
      case setting, values, from

      var about: String {
        switch self {
        case .setting: "The name of the setting."
        case .values: "Its values."
        case .from: "The scope that sets it: everybody, a group, the user or a device."
        }
      }
    }
  }

  /// A rule of access that concerns the user.
  package struct Rule: Hashable, Sendable, Codable {
    package var rule: String
    package var text: String

    private enum CodingKeys: String, DescribedKey {
      case rule, text

      var about: String {
        switch self {
        case .rule: "The name of the rule."
        case .text: "The rule in words, as `access list` shows it."
        }
      }
    }
  }
}

extension UserReport {
  /// The report as a document.
  package var document: UserDocument {
    UserDocument(
      user: user.name.description, state: state, until: user.until,
      locked: lock.map { UserDocument.Lock(time: $0.time, actor: $0.record.actor, reason: $0.record.detail) },
      identity: user.subject,
      login: UserDocument.Login(
        password: credential.map { !$0.password.isEmpty } ?? false, mustChange: credential?.mustChange ?? false,
        code: credential.map { !$0.codeSecret.isEmpty } ?? false, recoveryCodes: credential?.recoveryHashes.count ?? 0,
        tokens: tokens.map { UserDocument.Token(token: $0.id, uses: $0.uses, until: $0.until) }),
      groups: groups.map { UserDocument.Group(group: $0.name.description, precedence: $0.precedence) },
      role: page == nil ? nil : "\(role.role)", devices: status.reports(of: devices),
      settings: settings.map { UserDocument.Setting(setting: $0.name, values: $0.values, from: $0.origin) },
      rules: rules.map { UserDocument.Rule(rule: $0.name.description, text: status.directory.text(of: $0)) })
  }
}
