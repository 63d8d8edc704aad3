package import ControlProtocol
internal import NetworkTypes
internal import PolicySource
internal import RoamwardCore

/// Policies that a person applies, for good or on trial.
extension Reconciler {
  /// Puts files over the policies in force, where the whole is without errors and, unless it is a trial, cuts nobody's session.
  package func apply(_ request: ApplyRequest) throws(RequestError) {
    if world.trials.current() != nil {
      throw RequestError(
        code: .trial, message: "policies are on trial already; `roamward confirm` keeps them, `roamward revert` takes them back")
    }
    let staged = world.trials.stage(request.files)
    do throws(RequestError) {
      if staged.hasErrors {
        let errors = staged.diagnostics.filter { $0.severity == .error }.map { $0.rendered() }
        throw RequestError(
          code: .badPolicy, message: "the policies have errors, and nothing was changed:\n\(errors.joined(separator: "\n"))")
      }
      if let seconds = request.confirmWithin {
        if let failure = world.trials.begin(world.now() + .seconds(seconds)) { throw RequestError(code: .failed, message: failure) }
      } else {
        observe()
        let cure = "`--confirm-within 60s` brings the last set back unless you confirm it, `--even-ssh` does it all the same"
        try refuseToCut(request.sessions, under: prospect(of: staged.policies), cure: cure)
        if let failure = world.trials.keep() {
          // As far as it has come.
          policiesChanged()
          throw RequestError(code: .failed, message: failure)
        }
      }
    } catch {
      if error.code != .failed || world.trials.current() != nil { world.trials.drop() }
      throw error
    }
    policiesChanged()
  }

  /// Keeps the policies on trial.
  package func confirmTrial() throws(RequestError) {
    guard world.trials.current() != nil else { throw RequestError(code: .trial, message: "no policies are on trial") }
    if let failure = world.trials.keep() { throw RequestError(code: .failed, message: failure) }
    policiesChanged()
  }

  /// Brings back the set before the trial.
  package func revertTrial() throws(RequestError) {
    guard world.trials.current() != nil else { throw RequestError(code: .trial, message: "no policies are on trial") }
    world.trials.drop()
    policiesChanged()
  }

  func endTrialInTime(at now: Moment) {
    guard let trial = world.trials.current(), trial.until <= now else { return }
    world.trials.drop()
    warn(Remark(.trialEnded, "the policies on trial were not confirmed in time; the last set is back in force"))
    policiesChanged()
  }
}
