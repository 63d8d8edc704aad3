internal import NetworkTypes
package import RoamwardCore

extension Decision {
  /// One element of `decisions` in `roamward evaluate --json`.
  package var json: JSON {
    [
      "tunnel": .string(tunnel), "action": .string(outcome.rawValue), "rule": rule?.json ?? .null,
      "pending": pendingJSON, "because": .string(because), "inert": inert?.json ?? .null,
      "trace": .array(
        trace.map {
          [
            "rule": $0.rule.json, "action": .string($0.action.rawValue), "holds": .string($0.holds.rawValue),
            "because": [.string($0.finding.because)],
          ]
        }),
    ]
  }
}

extension Decision {
  private var pendingJSON: JSON {
    guard outcome == .pending else { return .null }
    guard let pending else { return ["waits-for": .string(because)] }
    return [
      "waits-for": .string(because), "decide-within-milliseconds": .integer(pending.decideWithin.milliseconds),
      "then": ["action": .string(pending.then.rawValue), "rule": pending.rule?.json ?? .null],
    ]
  }
}

extension Inert {
  fileprivate var json: JSON { ["reason": .string(code.rawValue), "by": JSON(winner), "because": .string(words)] }
}

extension RuleReference {
  fileprivate var json: JSON {
    ["index": JSON(index), "name": JSON(name), "file": .string(location.file), "line": JSON(location.line)]
  }
}
