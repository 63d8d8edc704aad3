internal import NetworkTypes
internal import RoamwardCore

/// What others undo, and what they route beside our tunnels.
extension Reconciler {
  /// Something of ours has been changed by somebody else. That does not wait for the network to settle.
  package func damaged() {
    isObservationStale = true
    let now = world.now()
    let at = pace.look(after: .zero, at: now)
    if at <= now { return pass() }
    settleUntil = settleUntil.map { min($0, at) } ?? at
    schedule()
  }

  /// The steps to make now: without repairs of what is fought over, until their time comes.
  func pacingRepairs(_ steps: [Step], towards desired: DesiredState) -> [Step] {
    guard let settledState, !steps.isEmpty else { return steps }
    let subjects = desired.repairs(by: steps, since: settledState)
    let now = world.now()
    let waiting = repairPace.repair(Set(subjects.compactMap { $0 }), at: now)
    guard !waiting.isEmpty else { return steps }
    repairAt = ([repairAt].compactMap { $0 } + waiting.values).min()
    return zip(steps, subjects).filter { $1.map { waiting[$0] == nil } ?? true }.map(\.0)
  }

  /// Of contests that go on, and of routes from the network that would lead past a tunnel; those that are over are forgotten.
  var notesOfOthers: [String] {
    let contested = repairPace.contested(at: world.now())
    return contested.map { repairPace.words(for: $0) } + others.collisions + pushedClaims
  }

  var underlayFit: UnderlayFit {
    UnderlayFit(
      observation?.snapshot ?? NetworkSnapshot(), isReversePathStrict: observation?.state.isReversePathStrict ?? false, others: others,
      resolver: resolverChoice)
  }

  /// Takes in what the last look shows of other VPNs.
  func noteOthers() {
    guard let kernel = observation?.state.kernel else { return }
    others = OtherVPNs(in: kernel, ownLinks: Set(supervisors.values.compactMap(\.linkName)))
    claims = nil
  }

  private var pushedClaims: [String] {
    guard let kernel = observation?.state.kernel else { return [] }
    let setups = guardedSetups.filter { $0.level == .full }
    if setups.isEmpty { return [] }
    let found = claims ?? routeClaims(on: setups, in: kernel, underlayFit).filter(\.isNews)
    claims = found
    return found.map(\.description)
  }
}
