package import ControlProtocol
package import NetworkTypes
package import PolicySource

/// The source of policies, and the storage of policies on trial.
package struct PolicyPlatform {
  package var load: () -> LoadedPolicies
  package var trials: PolicyTrials

  package init(load: @escaping () -> LoadedPolicies, trials: PolicyTrials) {
    self.load = load
    self.trials = trials
  }
}

/// Policies in force until a moment, unless they are confirmed.
package struct PolicyTrial: Equatable, Sendable {
  package var until: Moment

  package init(until: Moment) { self.until = until }
}

/// The storage of policies on trial: a layer over all others. The set before them is never touched, and returns when the layer is removed.
package struct PolicyTrials {
  package var current: () -> PolicyTrial?
  /// Stages files, and returns the resulting set. It does not come into force.
  package var stage: ([ApplyRequest.File]) -> LoadedPolicies
  /// Puts the staged files in force until a moment.
  package var begin: (Moment) throws(PlatformError) -> Void
  /// Makes the staged files, or those on trial, part of the policies.
  package var keep: () throws(PlatformError) -> Void
  /// Removes the staged files, or those on trial.
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

  /// Ends a trial whose time is over; returns whether there was one.
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
