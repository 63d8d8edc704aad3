package import ControlProtocol
package import NetworkTypes
package import PolicySource

/// Where policies come from, and where those on trial are kept.
package struct PolicyPlatform {
  package var load: () -> LoadedPolicies
  package var trials: PolicyTrials

  package init(load: @escaping () -> LoadedPolicies, trials: PolicyTrials) {
    self.load = load
    self.trials = trials
  }
}

/// Policies in force until a moment, unless somebody confirms them.
package struct PolicyTrial: Hashable, Sendable {
  package var until: Moment

  package init(until: Moment) { self.until = until }
}

/// Where policies on trial are kept: a layer over all others, so that the set before them is never touched, and comes
/// back by taking the layer away.
package struct PolicyTrials {
  package var current: () -> PolicyTrial?
  /// Puts files aside, and gives the set as it would be with them. Nothing is in force by that.
  package var stage: ([ApplyRequest.File]) -> LoadedPolicies
  /// Puts what was staged in force until a moment.
  package var begin: (Moment) throws(PlatformError) -> Void
  /// Makes what was staged, or is on trial, part of the policies.
  package var keep: () throws(PlatformError) -> Void
  /// Takes what was staged, or is on trial, away.
  package var drop: () -> Void

  package init(
    current: @escaping () -> PolicyTrial?, stage: @escaping ([ApplyRequest.File]) -> LoadedPolicies,
    begin: @escaping (Moment) throws(PlatformError) -> Void, keep: @escaping () throws(PlatformError) -> Void, drop: @escaping () -> Void
  ) {
    self.current = current
    self.stage = stage
    self.begin = begin
    self.keep = keep
    self.drop = drop
  }

  /// Ends a trial whose time is over; gives whether there was one.
  func end(at now: Moment) -> Bool {
    guard let trial = current(), trial.until <= now else { return false }
    drop()
    return true
  }

  /// No policies are on trial, and none can be.
  package static var unsupported: PolicyTrials {
    PolicyTrials(
      current: { nil }, stage: { _ in LoadedPolicies() },
      begin: { _ throws(PlatformError) in throw PlatformError("there is no folder for trials") },
      keep: { () throws(PlatformError) in throw PlatformError("there is no folder for trials") }, drop: {})
  }
}
