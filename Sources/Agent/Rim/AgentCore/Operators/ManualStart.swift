internal import ControlProtocol
internal import JSON
internal import PolicySource
internal import RoamwardCore

/// The start of a tunnel by hand, with options of its own.
struct ManualStart {
  let policy: TunnelPolicy
  let request: StartOptions?
  /// Whether the caller is root or the agent's own user.
  let isOwner: Bool
  /// The options of the override in force.
  let before: JSON?
  /// Whether a run of the tunnel's provider is under way.
  let isRunning: Bool

  /// The options, checked against those that the provider declares, and the caller's rights.
  func options(wantsUp: Bool) throws(RequestError) -> JSON {
    guard let request, !request.isEmpty else { return [:] }
    guard wantsUp else { throw RequestError(code: .badRequest, message: "options are for a start: `up`, not `down`") }
    guard case .installed(let provider) = policy.provider else {
      throw RequestError(
        code: .provider,
        message:
          "\(policy.name) takes no options for a start, because its provider (\(policy.provider.name)) has none; installed providers do")
    }
    let options: JSON
    do throws(StartOptionProblem) {
      options = try provider.startable.read(request.options.map { ($0.name, $0.value) }, of: policy.name, isOwner: isOwner)
      if request.password != nil { try provider.startable.check(StartableOptions.password, of: policy.name, isOwner: isOwner) }
    } catch {
      throw RequestError(code: error.isOfRights ? .notAllowed : .provider, message: error.text)
    }
    if request.password != nil, isRunning, options == before ?? [:] {
      throw RequestError(
        code: .provider,
        message: "\(policy.name) is starting or up, and a password is for a start: run `roamward down \(policy.name)` first, or "
          + "`roamward answer \(policy.name)` if it asks for one")
    }
    return options
  }
}
