package import GatewayCore
package import JSON
import KernelModel
package import NetworkTypes
package import PageProtocol

/// An answer of the page: HTTP's status, and JSON.
package struct PageAnswer: Hashable, Sendable {
  package var status: UInt16
  package var body: JSON

  package init(_ body: JSON, status: UInt16 = 200) {
    self.status = status
    self.body = body
  }

  package static func refusal(_ status: UInt16, _ text: String, help: String? = nil) -> PageAnswer {
    PageAnswer(help.map { ["error": .string(text), "help": .string($0)] } ?? ["error": .string(text)], status: status)
  }

  package static func refusal(_ error: GatewayError) -> PageAnswer { refusal(409, error.text, help: error.help) }
}

extension PageQuestion {
  /// The least role that may ask the question.
  package var leastRole: PageRole {
    switch self {
    case .me, .addDevice, .removeDevice: .user
    case .devices, .groups, .audit, .access: .administrator
    case .endSession: .operator
    }
  }
}

extension GatewayStatus {
  /// The person's own devices.
  package func page(of asker: PageAsker) -> JSON {
    [
      "user": asker.user.name.json, "device": asker.device.name.json, "administrator": .bool(asker.role >= .administrator),
      "operator": .bool(asker.role >= .operator),
      "limit": .integer(directory.deviceLimit(of: asker.user.id)),
      "devices": JSON(encoding: reports(of: directory.devices(of: asker.user.id))),
    ]
  }
}

extension Directory {
  /// Groups with their members, and users.
  package func page(at now: Timestamp, within limit: Int) -> JSON {
    let all = groups.values.sorted { ($0.precedence, $0.name) < ($1.precedence, $1.name) }.map { group -> JSON in
      let names = members.values.filter { $0.group == group.id }.compactMap { users[$0.user]?.name }.sorted()
      return ["group": group.name.json, "precedence": .integer(group.precedence), "users": .array(names.prefix(100).map(\.json))]
    }
    let people = users.values.sorted { $0.name < $1.name }.map { user -> JSON in
      return [
        "user": user.name.json, "state": .string(user.state(at: now)), "until": time(user.until),
        "devices": .integer(Int64(devices(of: user.id).count)),
      ]
    }
    let (shownGroups, moreGroups) = fitting(all, within: limit / 2)
    let (shownUsers, moreUsers) = fitting(people, within: limit / 2)
    return ["groups": .array(shownGroups), "users": .array(shownUsers), "more": .integer(Int64(moreGroups + moreUsers))]
  }

  /// The answer of `access explain` for the page.
  package func page(of question: AccessQuestion) -> JSON {
    let decision = AccessDecision(question, in: self)
    let passed = decision.passed.map { JSON.string("\(text(of: $0.rule)): \($0.reason.rawValue)") }
    return ["allowed": .bool(decision.isAllowed), "decision": .string(text(of: decision)), "passed": .array(Array(passed.prefix(200)))]
  }
}

extension AuditEntry {
  package var json: JSON {
    [
      "sequence": .integer(sequence), "time": .string(time.description), "actor": .string(record.actor),
      "request": .string(record.verb), "object": .string(record.object), "detail": .string(record.detail),
    ]
  }
}

/// The first values that fit into a number of bytes together, and how many are left out.
package func fitting(_ values: some Collection<JSON>, within limit: Int) -> (shown: [JSON], more: Int) {
  var (shown, length) = ([JSON](), 0)
  for value in values {
    if limit < .max { length += value.text().utf8.count + 1 }
    guard length <= limit else { break }
    shown.append(value)
  }
  return (shown, values.count - shown.count)
}

extension GatewayName {
  var json: JSON { .string(description) }
}

func time(_ time: Timestamp?) -> JSON { time.map { .string($0.description) } ?? .null }
