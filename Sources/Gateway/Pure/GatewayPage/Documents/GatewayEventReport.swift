package import GatewayCore
package import JSON
package import NetworkTypes

/// A line of what `roamward-gateway monitor --json` prints: one event.
package enum GatewayEventReport: Hashable, Sendable {
  /// The gateway started to serve, or stopped.
  case serving(Serving)
  /// The store went away, or came back.
  case store(Store)
  /// A device connected, disconnected or moved.
  case device(Device)
  /// An entry of the audit log.
  case audit(Audit)

  package init(_ event: GatewayEvent, at time: Timestamp) {
    switch event {
    case .serving(let isServing): self = .serving(Serving(time: time, event: "serving", serving: isServing))
    case .store(let reason): self = .store(Store(time: time, event: "store", away: reason))
    case .connected(let path, let endpoint):
      self = .device(Device(time: time, event: "connected", device: "\(path)", endpoint: endpoint.map { "\($0)" }))
    case .disconnected(let path): self = .device(Device(time: time, event: "disconnected", device: "\(path)", endpoint: nil))
    case .moved(let path, let endpoint): self = .device(Device(time: time, event: "moved", device: "\(path)", endpoint: "\(endpoint)"))
    case .audit(let entry): self = .audit(Audit(entry))
    }
  }

  package var json: JSON {
    switch self {
    case .serving(let report): JSON(encoding: report)
    case .store(let report): JSON(encoding: report)
    case .device(let report): JSON(encoding: report)
    case .audit(let report): JSON(encoding: report)
    }
  }

  /// The schema of a line.
  static func schema() throws -> JSON {
    [
      "anyOf": [
        try JSON.schema(of: Serving.self), try JSON.schema(of: Store.self), try JSON.schema(of: Device.self),
        try JSON.schema(of: Audit.self),
      ]
    ]
  }
}

extension GatewayEventReport {
  /// Whether the gateway serves now.
  package struct Serving: Hashable, Sendable, Codable {
    package var time: Timestamp
    package var event: String
    package var serving: Bool

    private enum CodingKeys: String, DescribedKey {
      case time, event, serving

      var about: String {
        switch self {
        case .time: "The time of the event."
        case .event: "The event: the gateway started or stopped."
        case .serving: "Whether it runs now."
        }
      }

      var values: [String]? { self == .event ? ["serving"] : nil }
    }
  }

  /// Whether the store can be read now.
  package struct Store: Hashable, Sendable, Codable {
    package var time: Timestamp
    package var event: String
    package var away: String?

    private enum CodingKeys: String, DescribedKey {
      case time, event, away

      var about: String {
        switch self {
        case .time: "The time of the event."
        case .event: "The event: the store went away or came back."
        case .away: "The reason why it cannot be read; null: it answers again."
        }
      }

      var values: [String]? { self == .event ? ["store"] : nil }
    }
  }

  /// A device that connected, disconnected or moved.
  package struct Device: Hashable, Sendable, Codable {
    package var time: Timestamp
    package var event: String
    package var device: String
    package var endpoint: String?

    private enum CodingKeys: String, DescribedKey {
      case time, event, device, endpoint

      var about: String {
        switch self {
        case .time: "The time of the event."
        case .event: "The event of the device."
        case .device: "The device: USER/NAME."
        case .endpoint: "The address and port from which it sends; null: it disconnected, or the relay carries it."
        }
      }

      var values: [String]? { self == .event ? ["connected", "disconnected", "moved"] : nil }
    }
  }

  /// An entry of the audit log.
  package struct Audit: Hashable, Sendable, Codable {
    package var time: Timestamp
    package var event: String
    package var sequence: Int64
    package var actor: String
    package var verb: String
    package var object: String
    package var detail: String

    init(_ entry: AuditEntry) {
      time = entry.time
      event = "audit"
      sequence = entry.sequence
      actor = entry.record.actor
      verb = entry.record.verb
      object = entry.record.object
      detail = entry.record.detail
    }

    private enum CodingKeys: String, DescribedKey {
      case time, event, sequence, actor, verb, object, detail

      var about: String {
        switch self {
        case .time: "The time of the event."
        case .event: "The event: an entry of the audit log."
        case .sequence: "The number of the entry."
        case .actor: "The person or program that acted."
        case .verb: "The request: user add, login accept and the like."
        case .object: "The user, device or setting that it concerns."
        case .detail: "The values of the request; empty: none."
        }
      }

      var values: [String]? { self == .event ? ["audit"] : nil }
    }
  }
}
