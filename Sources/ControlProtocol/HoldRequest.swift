package import NetworkTypes

/// What `up` and `down` ask for.
package struct HoldRequest: Hashable, Sendable {
  package enum Until: Hashable, Sendable {
    case networkChange
    case resume
    /// This many seconds.
    case seconds(Int64)
  }

  package var wantsUp: Bool
  package var until: Until
  package var reason: String?
  /// Where sessions come from that must not be cut.
  package var sessions: [IPAddress]

  package init(wantsUp: Bool, until: Until = .networkChange, reason: String? = nil, sessions: [IPAddress] = []) {
    self.wantsUp = wantsUp
    self.until = until
    self.reason = reason
    self.sessions = sessions
  }

  /// A hold is not for ever: a year at most.
  package static let longest: Int64 = 366 * 86_400

  func json(of tunnel: String) -> JSON {
    [
      "command": wantsUp ? "up" : "down", "tunnel": .string(tunnel), "until": until.json, "reason": JSON(reason),
      "sessions": JSON(sessions.map(\.description)),
    ]
  }

  init(_ json: JSON) throws(RequestError) {
    wantsUp = json["command"]?.string == "up"
    reason = json["reason"]?.string
    sessions = json.sessions
    switch (json["until"] ?? .null, json["until"]?.integer) {
    case (.null, _), (.string("network-change"), _): until = .networkChange
    case (.string("resume"), _): until = .resume
    case (_, let seconds?) where (1...Self.longest).contains(seconds): until = .seconds(seconds)
    default: throw RequestError(code: .badRequest, message: "`until` is network-change, resume, or a number of seconds up to a year")
    }
  }
}

extension HoldRequest.Until {
  var json: JSON {
    switch self {
    case .networkChange: "network-change"
    case .resume: "resume"
    case .seconds(let seconds): .integer(seconds)
    }
  }
}
