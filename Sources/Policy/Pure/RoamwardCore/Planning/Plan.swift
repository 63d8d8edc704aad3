package import KernelModel

/// The changes from the observed to the desired state, in a safe order.
package struct Plan: Equatable, Sendable {
  package var steps: [Step]
  /// Objects that are in conflict and left alone, for people.
  package var conflicts: [Remark] = []
  /// The conflicts that prevent a tunnel, by the tunnel's name.
  package var obstacles: [String: TunnelFailure] = [:]

  package init(steps: [Step] = []) { self.steps = steps }

  package var isEmpty: Bool { steps.isEmpty }

  /// The plan that reverts this one, last change first.
  package var undo: Plan { Plan(steps: steps.reversed().compactMap(\.undo)) }
}
