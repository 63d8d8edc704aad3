package import KernelModel

/// The changes that lead from what there is to what there ought to be, in the order in which they are safe.
package struct Plan: Hashable, Sendable {
  package var steps: [Step]
  /// What stands in the way and is left alone, for people.
  package var conflicts: [Remark] = []
  /// Those of them that keep a tunnel from being made, by its name.
  package var obstacles: [String: TunnelFailure] = [:]

  package init(steps: [Step] = []) { self.steps = steps }

  package var isEmpty: Bool { steps.isEmpty }

  /// Leads back, last change first.
  package var undo: Plan { Plan(steps: steps.reversed().compactMap(\.undo)) }
}
