internal import JSON
import NetworkTypes
import RoamwardCore

let onDemandKeys = Mapping(
  subject: "`on-demand`", draft: OnDemand(),
  keys: [
    Key("enabled", .boolean, "Enable the rules. If false, only `up` and `down` control the tunnel.", standard: "true", example: "false") {
      $0.isEnabled = $1
    },
    Key("rules", .rules, "Rules in order; the first match decides.", example: "[ { match: { interface: wifi }, action: connect } ]") {
      $0.rules = $1
    },
    Key("timing", .timing, "Delays of decisions and actions.", example: "{ release-delay: 10s }") { $0.timing = $1 },
  ])

extension ValueReader where Value == OnDemand {
  static let onDemand = onDemandKeys.reader("rules and timing") { onDemand, _, _ in onDemand }
}

let timingKeys = Mapping(
  subject: "`timing`", draft: Timing(),
  keys: [
    Key(
      "settle", .duration, "The time that a network has to last before the rules act on it; absent: the agent's own setting.",
      example: "500ms"
    ) { $0.settle = $1 },
    Key(
      "release-delay", .duration, "The delay before rules take the tunnel down; connecting does not wait for it.",
      standard: "5s", example: "10s"
    ) { $0.releaseDelay = $1 },
    Key(
      "minimum-dwell", .duration,
      "The minimum time, from its start, that rules leave a tunnel up; connecting and manual overrides do not wait for it.",
      standard: "0s", example: "1m"
    ) { $0.minimumDwell = $1 },
    Key(
      "idle", .idle,
      "The time without data after which a tunnel that `evaluate-connection` has armed discards its session and is armed again, at least 20s.",
      standard: "5m", example: "10m"
    ) { $0.idle = $1 },
    Key("decide-within", .duration, "The maximum time an unknown fact keeps the decision pending.", standard: "5s", example: "1500ms") {
      $0.decideWithin = $1
    },
  ])

extension ValueReader where Value == Duration {
  /// A shorter time than a session lasts is read as that.
  fileprivate static let idle = positiveDuration.warning { text, idle in
    guard idle < Timing.shortestIdle else { return nil }
    return ("`idle: \(text)` is read as 20s, the shortest time that a session lasts", "write `idle: 20s`, or more")
  }
}

extension ValueReader where Value == Timing {
  fileprivate static let timing = timingKeys.reader("durations by name") { timing, _, _ in timing }
}

extension ValueReader where Value == [Rule] {
  fileprivate static let rules = ValueReader(expected: "a list of rules", schema: .list(of: .definition("rule"))) { node, reading in
    guard case .sequence(let nodes) = node.content else {
      reading.expected("a list of rules", at: node, help: "put a dash before each rule: `- action: connect`")
      return nil
    }
    return nodes.compactMap { readRule($0, &reading) }
  }
}

/// The partly read keys of a rule.
struct RuleDraft {
  var name: String?
  var match = Condition.always
  var action: Action?
  /// `nil`: the key is absent.
  var connections: (rules: [ConnectionRule], entry: Node.Entry)?
  var actionLocation: SourceLocation?
  var onUnknown: UnknownPolicy?
}

let ruleKeys = Mapping(
  subject: "a rule", draft: RuleDraft(),
  constraints: JSON.only("connections", with: Action.evaluateConnection.rawValue, isRequired: false),
  keys: [
    Key("name", .line, "The rule's name in reports.", example: "in the office") { $0.name = $1 },
    Key(
      "match", expects: "criteria", schema: .definition("match"), "The criteria of the rule; absent or empty: the rule always matches.",
      example: "{ interface: wifi }"
    ) {
      entry, draft, reading in
      if let condition = readCondition(entry.value, of: "a match", &reading) { draft.match = condition }
    },
    Key(
      "action", expects: "connect, disconnect, ignore or evaluate-connection", schema: ValueReader<Action>.word().schema,
      "The rule's action.", example: "connect",
      missing: "expected \(ValueReader<Action>.word().expected)"
    ) { entry, draft, reading in
      draft.action = ValueReader<Action>.word().read(entry.value, &reading)
      draft.actionLocation = entry.value.location
    },
    Key(
      "connections", expects: "a list",
      schema: Schema(["type": "array", "items": connectionKeys.schema.value, "minItems": 1]),
      "With `evaluate-connection`, and without `apps: include`: the effect of a look-up of a name; the first entry that contains it decides.",
      example: "[ { domains: [corp.example], action: connect-if-needed } ]"
    ) { entry, draft, reading in
      draft.connections = (readConnections(entry, &reading), entry)
    },
    Key(
      "on-unknown", ValueReader<UnknownPolicy>.word(),
      "The result of an unknown match after `decide-within`; absent: what protects most.",
      example: "no-match"
    ) { $0.onUnknown = $1 },
  ])

private func readRule(_ node: Node, _ reading: inout Reading) -> Rule? {
  reading.emptyCriteria = []
  let draft = ruleKeys.read(node, &reading)
  for criterion in reading.takeEmptyCriteria() {
    reading.problems.add(criterion, disconnects: draft?.action == .disconnect, in: reading.source)
  }
  guard let draft, let action = draft.action else { return nil }
  let connections = draft.connections
  if action == .evaluateConnection {
    if connections == nil { reading.rulesWithoutConnections.append(draft.actionLocation ?? node.location) }
  } else if let connections {
    reading.error(
      "`connections` has no meaning beside `action: \(action.rawValue)`", help: "say `action: evaluate-connection`, or remove it",
      at: connections.entry.keyLocation)
  }
  return Rule(
    name: draft.name, match: draft.match, action: action, connections: action == .evaluateConnection ? connections?.rules ?? [] : [],
    onUnknown: draft.onUnknown, location: node.location)
}
