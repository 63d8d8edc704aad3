/// One on-demand rule: an action, and when it holds.
package struct Rule: Hashable, Sendable {
  package var name: String?
  package var match: Condition
  package var action: Action
  /// With `evaluate-connection`: what a look-up of a name does; the first entry that holds the name decides.
  package var connections: [ConnectionRule]
  /// Overrides what an unknown fact counts as once the decision may wait no longer.
  package var onUnknown: UnknownPolicy?
  package var location: SourceLocation

  package init(
    name: String? = nil, match: Condition = .always, action: Action, connections: [ConnectionRule] = [], onUnknown: UnknownPolicy? = nil,
    location: SourceLocation
  ) {
    self.name = name
    self.match = match
    self.action = action
    self.connections = connections
    self.onUnknown = onUnknown
    self.location = location
  }
}

/// What a rule does, in the words of the policy language.
package enum Action: String, Hashable, Sendable, CaseIterable {
  /// Bring the tunnel up now and keep it up.
  case connect
  /// Bring it down and keep it down.
  case disconnect
  /// Leave it as it is; do not start it.
  case ignore
  /// Leave it as it is; a look-up of a name starts it where a connection rule says so.
  case evaluateConnection = "evaluate-connection"

  /// What an unknown match counts as in the end, so that ignorance protects: it connects, and it never disconnects.
  package var unknownCountsAs: UnknownPolicy { self == .connect ? .match : .noMatch }
}

/// What a match that stays unknown counts as.
package enum UnknownPolicy: String, Hashable, Sendable, CaseIterable {
  /// It holds.
  case match
  /// It does not hold.
  case noMatch = "no-match"
}
