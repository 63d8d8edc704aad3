package import JSON
package import NetworkTypes
package import RoamwardCore

/// The content of one kind of event: its members are added to those that all events have.
package protocol Happening: Hashable, Sendable, Codable {
  /// The value of `event`.
  static var event: String { get }
  /// The line for people; `code` is the event's.
  func line(_ code: ReasonCode?) -> String
}

/// An event, as `roamward monitor --json` prints it: an object on a line.
package struct EventReport: Sendable {
  /// Every kind of event. A new kind is a type and an entry of this list.
  package static let kinds: [any Happening.Type] = [
    DecisionEvent.self, StateEvent.self, LookupEvent.self, NameRouteEvent.self, FailureEvent.self, OverrideEvent.self, TimerEvent.self,
    NetworkEvent.self, PolicyEvent.self, FirewallEvent.self, RepairEvent.self, WarningEvent.self, SnapshotEvent.self,
    ProviderLogEvent.self, ProviderEvent.self, QuestionEvent.self,
  ]

  package var time: Timestamp
  /// The reason; `nil` if only an observation caused the event.
  package var code: ReasonCode?
  package var happening: any Happening

  package init(time: Timestamp, code: ReasonCode?, happening: any Happening) {
    self.time = time
    self.code = code
    self.happening = happening
  }

  /// The line for people.
  package var line: String { happening.line(code) }
}

extension Happening {
  fileprivate func isSame(as other: any Happening) -> Bool { other as? Self == self }
}

extension EventReport: Equatable {
  package static func == (a: Self, b: Self) -> Bool {
    a.time == b.time && a.code == b.code && a.happening.isSame(as: b.happening)
  }
}

extension EventReport: Codable {
  /// The members of every event besides `event` and its own members.
  private struct Envelope: Codable {
    var version = DocumentVersion()
    var time: Timestamp
    var code: ReasonCode?

    enum CodingKeys: String, DescribedKey {
      case version, time, code

      var about: String {
        switch self {
        case .version: "The version of this document."
        case .time: "Time of the event."
        case .code: "The reason as a code; null: an observation of the network."
        }
      }
    }
  }

  private enum KindKey: String, CodingKey {
    case event
  }

  package init(from decoder: any Decoder) throws {
    let envelope = try Envelope(from: decoder)
    (time, code) = (envelope.time, envelope.code)
    happening = try Self.decodeHappening(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    try Envelope(time: time, code: code).encode(to: encoder)
    try Self.encode(happening, to: encoder)
  }

  fileprivate static func decodeHappening(from decoder: any Decoder) throws -> any Happening {
    let event = try decoder.container(keyedBy: KindKey.self).decode(String.self, forKey: .event)
    guard let kind = kinds.first(where: { $0.event == event }) else {
      throw JSONMismatch(at: decoder.codingPath + [KindKey.event], "unknown event \"\(event)\"")
    }
    return try kind.init(from: decoder)
  }

  fileprivate static func encode(_ happening: any Happening, to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: KindKey.self)
    try container.encode(type(of: happening).event, forKey: .event)
    try happening.encode(to: encoder)
  }
}

extension EventReport: SchemaDescribed {
  package static let sample = EventReport(time: .sample, code: nil, happening: PolicyEvent(generation: 1, errors: 0, warnings: 0))

  /// The schema of any one kind of event, with the members that all have.
  package static let schema: JSON = ["anyOf": .array(kinds.map { schema(of: $0, in: Envelope.self) })]

  fileprivate static func schema(of kind: any Happening.Type, in envelope: any Decodable.Type) -> JSON {
    guard let envelope = try? JSON.schema(of: envelope)["properties"]?.members,
      let own = try? JSON.schema(of: kind)["properties"]?.members
    else { preconditionFailure("\(kind) has no schema") }
    let event = JSON.Member(key: "event", value: ["description": "What kind of event it is.", "const": .string(kind.event)])
    let properties = envelope + [event] + own
    return [
      "type": "object", "properties": .object(properties), "required": JSON(properties.map(\.key)),
    ]
  }
}

/// An event of a simulation, as `roamward simulate --json` prints it: with the time since the start of the timeline.
package struct SimulatedEventReport: Sendable {
  package var atMilliseconds: Int64
  package var code: ReasonCode?
  package var happening: any Happening

  package init(atMilliseconds: Int64, code: ReasonCode?, happening: any Happening) {
    self.atMilliseconds = atMilliseconds
    self.code = code
    self.happening = happening
  }
}

extension SimulatedEventReport: Equatable {
  package static func == (a: Self, b: Self) -> Bool {
    a.atMilliseconds == b.atMilliseconds && a.code == b.code && a.happening.isSame(as: b.happening)
  }
}

extension SimulatedEventReport: Codable {
  private struct Envelope: Codable {
    var version = DocumentVersion()
    var atMilliseconds: Int64
    var code: ReasonCode?

    enum CodingKeys: String, DescribedKey {
      case version
      case atMilliseconds = "at-ms"
      case code

      var about: String {
        switch self {
        case .version: "The version of this document."
        case .atMilliseconds: "Time since the start of the timeline."
        case .code: "The reason as a code; null: an observation of the network."
        }
      }
    }
  }

  package static let schema: JSON = ["anyOf": .array(EventReport.kinds.map { EventReport.schema(of: $0, in: Envelope.self) })]

  package init(from decoder: any Decoder) throws {
    let envelope = try Envelope(from: decoder)
    (atMilliseconds, code) = (envelope.atMilliseconds, envelope.code)
    happening = try EventReport.decodeHappening(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    try Envelope(atMilliseconds: atMilliseconds, code: code).encode(to: encoder)
    try EventReport.encode(happening, to: encoder)
  }
}
