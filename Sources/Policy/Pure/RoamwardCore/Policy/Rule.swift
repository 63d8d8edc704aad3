/// One on-demand rule: a match and an action.
package struct Rule: Hashable, Sendable {
  package var name: String?
  package var match: Condition
  package var action: Action
  /// The connection rules of `evaluate-connection`; the first one that contains the looked-up name decides.
  package var connections: [ConnectionRule]
  /// Overrides how an unknown fact counts once the wait for it is over.
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

/// The action of a rule, as the policy language names it.
package enum Action: String, Equatable, Sendable, CaseIterable {
  /// Bring the tunnel up now and keep it up.
  case connect
  /// Bring it down and keep it down.
  case disconnect
  /// Leave it as it is; do not start it.
  case ignore
  /// Arm it: a look-up of a name starts it if a connection rule says so. A tunnel that cannot be armed is left as it is.
  case evaluateConnection = "evaluate-connection"
}

/// The effect of a match that stays unknown.
package enum UnknownPolicy: String, Equatable, Sendable, CaseIterable {
  /// It counts as a match.
  case match
  /// It counts as no match.
  case noMatch = "no-match"
}
