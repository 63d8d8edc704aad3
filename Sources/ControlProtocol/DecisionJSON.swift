package import RoamwardCore

extension Decision {
  /// One element of `decisions` in `roamward evaluate --json`.
  package var json: JSON {
    [
      "tunnel": .string(tunnel), "action": .string(outcome.rawValue), "rule": rule?.json ?? .null,
      "pending": outcome == .pending ? ["waits-for": .string(because)] : .null, "because": .string(because),
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

extension RuleReference {
  fileprivate var json: JSON {
    ["index": JSON(index), "name": JSON(name), "file": .string(location.file), "line": JSON(location.line)]
  }
}
