package import JSON
package import RoamwardCore

/// A line of the log of a tunnel's provider.
package struct ProviderLogEvent: Happening {
  package static let event = "provider-log"

  package var tunnel: String
  package var level: String
  package var origin: String
  package var text: String

  package func line(_ code: ReasonCode?) -> String { "\(tunnel): \(level): \(origin): \(text)" }

  private enum CodingKeys: String, DescribedKey {
    case tunnel
    case level
    case origin
    case text

    var about: String {
      switch self {
      case .tunnel: "The tunnel."
      case .level: "How important the line is."
      case .origin: "The part of the provider that logs; `agent`: the agent, about the provider."
      case .text: "The line, for people."
      }
    }

    var values: [String]? {
      switch self {
      case .level: ["debug", "info", "notice", "warning", "error"]
      default: nil
      }
    }
  }
}

/// An event of a tunnel's provider, in its own terms.
package struct ProviderEvent: Happening {
  package static let event = "provider"

  package var tunnel: String
  package var name: String
  package var data: JSON

  package func line(_ code: ReasonCode?) -> String { "\(tunnel): \(name)" + (data == .null ? "" : " \(data.text())") }

  private enum CodingKeys: String, DescribedKey {
    case tunnel
    case name
    case data

    var about: String {
      switch self {
      case .tunnel: "The tunnel."
      case .name: "The event, a word of the provider."
      case .data: "Any value, as the provider gave it."
      }
    }
  }
}

/// A tunnel's provider asks a person.
package struct QuestionEvent: Happening {
  package static let event = "question"

  package var tunnel: String
  package var number: Int
  package var kind: String
  package var prompt: String

  package func line(_ code: ReasonCode?) -> String { "\(tunnel): asks: \(prompt) (`roamward answer \(tunnel)`)" }

  private enum CodingKeys: String, DescribedKey {
    case tunnel
    case number
    case kind
    case prompt

    var about: String {
      switch self {
      case .tunnel: "The tunnel."
      case .number: "The question's number, for the answer."
      case .kind: "What is asked for."
      case .prompt: "The question, for people."
      }
    }

    var values: [String]? {
      switch self {
      case .kind: ["password", "code", "text", "url", "confirm"]
      default: nil
      }
    }
  }
}
