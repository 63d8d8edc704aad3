package import GatewayCore
package import JSON
internal import KernelModel
package import NetworkTypes

/// The groups and users, as the page shows them.
package struct GroupsReport: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var groups: [Group]
  package var users: [Person]
  package var more: Int

  private enum CodingKeys: String, DescribedKey {
    case version, groups, users, more

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .groups: "The groups, by precedence."
      case .users: "The users, sorted by name."
      case .more: "The number of groups and users that are left out, because an answer is bounded."
      }
    }
  }

  /// A group with its members, a hundred at most.
  package struct Group: Hashable, Sendable, Codable {
    package var group: String
    package var precedence: Int64
    package var users: [String]
    package var declared: String?

    private enum CodingKeys: String, DescribedKey {
      case group, precedence, users, declared

      var about: String {
        switch self {
        case .group: "The name of the group."
        case .precedence: "Its precedence: settings of the group with the smaller number win."
        case .users: "The names of its first hundred users."
        case .declared: "The file and line that declare it; null: a command made it."
        }
      }
    }
  }

  /// A user.
  package struct Person: Hashable, Sendable, Codable {
    package var user: String
    package var state: String
    package var until: Timestamp?
    package var devices: Int
    package var declared: String?

    private enum CodingKeys: String, DescribedKey {
      case user, state, until, devices, declared

      var about: String {
        switch self {
        case .user: "The name of the user."
        case .state: "Whether the user may connect."
        case .until: "The time at which the account ends; null: it does not."
        case .devices: "The number of devices of the user."
        case .declared: "The file and line that declare the user; null: a command, a login or an invitation added the user."
        }
      }

      var values: [String]? { self == .state ? ["active", "locked", "expired"] : nil }
    }
  }
}

/// The rules of access.
package struct RulesReport: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var rules: [Rule]
  package var more: Int

  private enum CodingKeys: String, DescribedKey {
    case version, rules, more

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .rules: "The rules in the order of their evaluation."
      case .more: "The number of rules that are left out, because an answer is bounded."
      }
    }
  }

  /// A rule.
  package struct Rule: Hashable, Sendable, Codable {
    package var place: Int
    package var rule: String
    package var text: String
    package var declared: String?

    private enum CodingKeys: String, DescribedKey {
      case place, rule, text, declared

      var about: String {
        switch self {
        case .place: "Its place in the order of evaluation, from 1."
        case .rule: "The name of the rule."
        case .text: "The rule in words, as `access list` shows it."
        case .declared: "The file and line that declare it; null: a command made it."
        }
      }
    }
  }
}

/// The decision of the rules of access on a packet, with the rules that were evaluated.
package struct AccessReport: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var allowed: Bool
  package var decision: String
  package var rules: [Rule]
  package var more: Int

  private enum CodingKeys: String, DescribedKey {
    case version, allowed, decision, rules, more

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .allowed: "Whether the packet is allowed."
      case .decision: "The deciding rule in one line."
      case .rules: "The rules in the order of their evaluation, up to the one that decides."
      case .more: "The number of evaluated rules that are left out, because an answer is bounded."
      }
    }
  }

  /// A rule that was evaluated.
  package struct Rule: Hashable, Sendable, Codable {
    package var place: Int
    package var rule: String
    package var text: String
    package var mismatch: String?
    package var declared: String?

    private enum CodingKeys: String, DescribedKey {
      case place, rule, text, mismatch, declared

      var about: String {
        switch self {
        case .place: "Its place in the order of evaluation, from 1."
        case .rule: "The name of the rule."
        case .text: "The rule in words, as `access list` shows it."
        case .mismatch: "The reason why it does not match; null: it matches, and decides."
        case .declared: "The file and line that declare it; null: a command made it."
        }
      }
    }
  }
}

/// The newest entries of the audit log.
package struct AuditReport: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var entries: [Entry]

  /// - Parameters:
  ///   - entries: ascending.
  ///   - limit: the bytes that they may take as JSON; the oldest are left out.
  package init(_ entries: [AuditEntry], within limit: Int) {
    self.entries = fitting(entries.reversed().map { Entry($0) }, within: limit).shown.reversed()
  }

  private enum CodingKeys: String, DescribedKey {
    case version, entries

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .entries: "The newest entries, the oldest of them first."
      }
    }
  }

  /// An entry of the audit log.
  package struct Entry: Hashable, Sendable, Codable {
    package var sequence: Int64
    package var time: Timestamp
    package var actor: String
    package var request: String
    package var object: String
    package var detail: String

    init(_ entry: AuditEntry) {
      sequence = entry.sequence
      time = entry.time
      actor = entry.record.actor
      request = entry.record.verb
      object = entry.record.object
      detail = entry.record.detail
    }

    private enum CodingKeys: String, DescribedKey {
      case sequence, time, actor, request, object, detail

      var about: String {
        switch self {
        case .sequence: "The number of the entry."
        case .time: "The time of the entry."
        case .actor: "The person or program that acted."
        case .request: "The request: user add, login accept and the like."
        case .object: "The user, device or setting that it concerns."
        case .detail: "The values of the request; empty: none."
        }
      }
    }
  }
}

extension Directory {
  /// Groups with their members, and users: those whose names contain `search`.
  package func page(search: String = "", at now: Timestamp, within limit: Int) -> GroupsReport {
    let search = search.lowercased()
    func isFound(_ name: GatewayName) -> Bool { search.isEmpty || name.description.contains(search) }
    func place(_ kind: DeclaredSubject.Kind, _ name: GatewayName) -> String? {
      marks.place(of: DeclaredSubject(kind, name.description))
    }
    let all = groups.values.filter { isFound($0.name) }.sorted { ($0.precedence, $0.name) < ($1.precedence, $1.name) }.map { group in
      let names = members.values.filter { $0.group == group.id }.compactMap { users[$0.user]?.name }.sorted()
      return GroupsReport.Group(
        group: "\(group.name)", precedence: group.precedence, users: names.prefix(100).map(\.description),
        declared: place(.group, group.name))
    }
    let people = users.values.filter { isFound($0.name) }.sorted { $0.name < $1.name }.map { user in
      GroupsReport.Person(
        user: "\(user.name)", state: user.state(at: now), until: user.until, devices: devices(of: user.id).count,
        declared: place(.user, user.name))
    }
    let (shownGroups, moreGroups) = fitting(all, within: limit / 2)
    let (shownUsers, moreUsers) = fitting(people, within: limit / 2)
    return GroupsReport(groups: shownGroups, users: shownUsers, more: moreGroups + moreUsers)
  }

  /// The rules of access, as `access list` has them.
  package func rules(within limit: Int) -> RulesReport {
    let all = sortedRules.enumerated().map { index, rule in
      RulesReport.Rule(place: index + 1, rule: "\(rule.name)", text: text(of: rule), declared: marks.place(of: rule))
    }
    let (shown, more) = fitting(all, within: limit)
    return RulesReport(rules: shown, more: more)
  }

  /// The answer of `explain` for the page.
  package func page(of question: AccessQuestion, within limit: Int) -> AccessReport {
    let decision = AccessDecision(question, in: self)
    var rules = decision.passed.enumerated().map { index, passed in
      AccessReport.Rule(
        place: index + 1, rule: "\(passed.rule.name)", text: text(of: passed.rule), mismatch: passed.reason.rawValue,
        declared: marks.place(of: passed.rule))
    }
    if let rule = decision.rule {
      rules.append(
        AccessReport.Rule(
          place: rules.count + 1, rule: "\(rule.name)", text: text(of: rule), mismatch: nil, declared: marks.place(of: rule)))
    }
    let (shown, more) = fitting(rules, within: limit)
    return AccessReport(allowed: decision.isAllowed, decision: decision.text(in: self), rules: shown, more: more)
  }
}

/// The first values that fit into a number of bytes together as JSON, and how many are left out.
func fitting<Value: Encodable>(_ values: [Value], within limit: Int) -> (shown: [Value], more: Int) {
  if limit == .max { return (values, 0) }
  var (count, length) = (0, 0)
  for value in values {
    length += JSON(encoding: value).text().utf8.count + 1
    guard length <= limit else { break }
    count += 1
  }
  return (Array(values.prefix(count)), values.count - count)
}
