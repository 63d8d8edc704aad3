package import ControlProtocol
internal import NetworkTypes
internal import PolicySource
internal import RoamwardCore

/// Policies that a person applies, permanently or on trial.
extension Agent {
  /// Puts files over the policies in force. Fails if the result has errors; or, unless it is a trial, if it would cut a remote session.
  package func apply(_ request: ApplyRequest) throws(RequestError) {
    if platform.policies.trials.current() != nil {
      throw RequestError(
        code: .trial, message: "policies are already on trial; `roamward confirm` keeps them, `roamward revert` removes them")
    }
    let staged = platform.policies.trials.stage(request.files)
    do throws(RequestError) {
      if staged.hasErrors {
        let errors = staged.diagnostics.filter { $0.severity == .error }.map { $0.rendered() }
        throw RequestError(
          code: .badPolicy, message: "the policies have errors, and nothing was changed:\n\(errors.joined(separator: "\n"))")
      }
      if let limit = request.confirmWithin {
        try ask { () throws(PlatformError) in try platform.policies.trials.begin(now + limit) }
      } else {
        reconciler.observe()
        let cure = "`--confirm-within 60s` brings the last set back unless you confirm it, `--even-ssh` does it all the same"
        try refuseToCut(request.sessions, under: preview(of: staged.policies), cure: cure)
        do throws(RequestError) {
          try ask(platform.policies.trials.keep)
        } catch {
          // A failed `keep` may have replaced some of the files.
          policiesChanged()
          throw error
        }
      }
    } catch {
      if error.code != .failed || platform.policies.trials.current() != nil { platform.policies.trials.drop() }
      throw error
    }
    policiesChanged()
  }

  /// Keeps the policies on trial.
  package func confirmTrial() throws(RequestError) {
    guard platform.policies.trials.current() != nil else { throw RequestError(code: .trial, message: "no policies are on trial") }
    try ask(platform.policies.trials.keep)
    policiesChanged()
  }

  /// Restores the set before the trial.
  package func revertTrial() throws(RequestError) {
    guard platform.policies.trials.current() != nil else { throw RequestError(code: .trial, message: "no policies are on trial") }
    platform.policies.trials.drop()
    policiesChanged()
  }

  /// Runs the body, and converts a failure of the platform to the answer of a request.
  private func ask(_ body: () throws(PlatformError) -> Void) throws(RequestError) {
    do throws(PlatformError) { try body() } catch { throw RequestError(code: .failed, message: error.description) }
  }
}
