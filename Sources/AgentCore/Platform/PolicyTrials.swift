package import ControlProtocol
package import NetworkTypes
package import PolicySource

/// Policies in force until a moment, unless somebody confirms them.
package struct PolicyTrial: Hashable, Sendable {
  package var until: Moment

  package init(until: Moment) { self.until = until }
}

/// Where policies on trial are kept: a layer over all others, so that the set before them is never touched, and comes back by taking the layer away.
package struct PolicyTrials {
  package var current: () -> PolicyTrial? = { nil }
  /// Puts files aside, and gives the set as it would be with them. Nothing is in force by that.
  package var stage: ([ApplyRequest.File]) -> LoadedPolicies = { _ in LoadedPolicies() }
  /// Puts what was staged in force until a moment. Gives what went wrong.
  package var begin: (Moment) -> String? = { _ in "there is no folder for trials" }
  /// Makes what was staged, or is on trial, part of the policies. Gives what went wrong.
  package var keep: () -> String? = { "there is no folder for trials" }
  /// Takes what was staged, or is on trial, away.
  package var drop: () -> Void = {}

  package init() {}
}
