package import NetworkTypes

/// The request of `up` and `down`.
package struct OverrideRequest: Hashable, Sendable, Codable {
  package var wantsUp: Bool
  package var until: Lifetime
  package var reason: String?
  /// The client addresses of sessions that must not be cut.
  package var sessions: [IPAddress]

  package init(wantsUp: Bool, until: Lifetime = .networkChange, reason: String? = nil, sessions: [IPAddress] = []) {
    self.wantsUp = wantsUp
    self.until = until
    self.reason = reason
    self.sessions = sessions
  }

  private enum CodingKeys: String, CodingKey {
    case wantsUp = "up"
    case until, reason, sessions
  }
}
