package import KernelModel
internal import NetworkTypes

/// The result of one step.
package struct StepResult: Equatable, Sendable {
  package enum Outcome: Equatable, Sendable {
    case done
    /// There was nothing to do: the object already existed, or was already gone.
    case alreadySo
    case failed(NetlinkError)
  }

  package let step: Step
  package let outcome: Outcome

  package init(step: Step, outcome: Outcome) {
    self.step = step
    self.outcome = outcome
  }

  package var error: NetlinkError? {
    if case .failed(let error) = outcome { error } else { nil }
  }
}

/// The results of steps, in their order. Only outcomes other than `done` take memory: a plan may have 100,000 steps.
package struct StepResults: Sequence, Sendable {
  private let steps: [Step]
  /// The outcomes by place; a step without one is done.
  var outcomes: [Int: StepResult.Outcome] = [:]

  /// All steps as done.
  init(_ steps: [Step]) { self.steps = steps }

  package subscript(place: Int) -> StepResult { StepResult(step: steps[place], outcome: outcomes[place] ?? .done) }

  package func makeIterator() -> IndexingIterator<[StepResult]> { steps.indices.map { self[$0] }.makeIterator() }

  /// The results with an error, in order.
  package var failures: [StepResult] {
    outcomes.keys.sorted().map { self[$0] }.filter { $0.error != nil }
  }

  func step(at place: Int) -> Step { steps[place] }
}
