package import GatewayCore
package import JSON
package import PageProtocol

/// An answer of the page: HTTP's status, and JSON.
package struct PageAnswer: Hashable, Sendable {
  package var status: UInt16
  package var body: JSON

  package init(_ body: JSON, status: UInt16 = 200) {
    self.status = status
    self.body = body
  }

  package init(_ report: some Encodable) { self.init(JSON(encoding: report)) }

  package static func refusal(_ status: UInt16, _ text: String, help: String? = nil) -> PageAnswer {
    PageAnswer(help.map { ["error": .string(text), "help": .string($0)] } ?? ["error": .string(text)], status: status)
  }

  package static func refusal(_ error: GatewayError) -> PageAnswer { refusal(409, error.text, help: error.help) }
}

extension PageQuestion {
  /// The least role that may ask the question.
  package var leastRole: PageRole {
    switch self {
    case .me, .link, .addDevice, .removeDevice: .user
    case .devices, .groups, .rules, .audit, .access, .endSession: .operator
    case .invite, .lock, .unlock: .administrator
    }
  }
}
