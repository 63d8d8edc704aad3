import NetworkTypes
import RoamwardCore

let onDemandKeys = Mapping(
  subject: "`on-demand`", draft: OnDemand(),
  keys: [
    Key("enabled", .boolean, "Off: the rules never act; the tunnel still obeys `up` and `down`.", standard: "true", example: "false") {
      $0.isEnabled = $1
    },
    Key("rules", .rules, "Rules in order; the first that holds decides.", example: "[ { match: { interface: wifi }, action: connect } ]") {
      $0.rules = $1
    },
    Key("timing", .timing, "How fast decisions are acted on.", example: "{ release-delay: 10s }") { $0.timing = $1 },
  ])

extension ValueReader where Value == OnDemand {
  static let onDemand = onDemandKeys.reader("rules and timing") { onDemand, _, _ in onDemand }
}

let timingKeys = Mapping(
  subject: "`timing`", draft: Timing(),
  keys: [
    Key(
      "settle", .duration, "How long a change of the network is left to settle; absent: the agent's own setting.", example: "500ms"
    ) {
      $0.settle = $1
    },
    Key(
      "release-delay", .duration, "For how long rules have to want the tunnel down before it goes; bringing it up never waits.",
      standard: "5s", example: "10s"
    ) { $0.releaseDelay = $1 },
    Key(
      "minimum-dwell", .duration,
      "For how long, from its start, rules leave a tunnel up at least; bringing it up never waits, and a person's word does not either.",
      standard: "0s", example: "1m"
    ) { $0.minimumDwell = $1 },
    Key(
      "idle", .positiveDuration, "A tunnel that a look-up started goes after this long without traffic; absent: never.", example: "10m",
      limitation: "this version does not stop tunnels that are idle"
    ) { $0.idle = $1 },
    Key("decide-within", .duration, "How long an unknown fact may keep the decision pending.", standard: "5s", example: "1500ms") {
      $0.decideWithin = $1
    },
  ])

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

/// A rule's keys, while they are being read.
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
  keys: [
    Key("name", .line, "What the rule is called in reports.", example: "in the office") { $0.name = $1 },
    Key(
      "match", expects: "criteria", schema: .definition("match"), "When the rule holds; absent or empty: always.",
      example: "{ interface: wifi }"
    ) {
      entry, draft, reading in
      if let condition = readCondition(entry.value, of: "a match", &reading) { draft.match = condition }
    },
    Key(
      "action", expects: "connect, disconnect, ignore or evaluate-connection", schema: ValueReader<Action>.word().schema,
      "What the rule does.", example: "connect",
      missing: "expected \(ValueReader<Action>.word().expected)"
    ) { entry, draft, reading in
      draft.action = ValueReader<Action>.word().read(entry.value, &reading)
      draft.actionLocation = entry.value.location
    },
    Key(
      "connections", expects: "a list", schema: .list(of: connectionKeys.schema),
      "With `evaluate-connection`: what a look-up of a name does; the first entry that holds the name decides.",
      example: "[ { domains: [corp.example], action: connect-if-needed } ]"
    ) { entry, draft, reading in
      draft.connections = (readConnections(entry, &reading), entry)
    },
    Key(
      "on-unknown", ValueReader<UnknownPolicy>.word(),
      "What an unknown match counts as once the decision may wait no longer; absent: `match` for connect, else `no-match`.",
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
    let place = draft.actionLocation ?? node.location
    let help = "for example: connections: [ { domains: [corp.example], action: connect-if-needed } ]"
    if case .sequence(let items)? = connections?.entry.value.content, !items.isEmpty {
      reading.tellLimit(
        of: action.rawValue, "this version does not watch look-ups, so the tunnel is left as it is",
        help: "`roamward evaluate --host NAME` says what a look-up would do", at: place)
    } else if connections == nil {
      reading.error("`evaluate-connection` needs `connections`, which say what a look-up does", help: help, at: place)
    }
  } else if let connections {
    reading.error(
      "`connections` has no meaning beside `action: \(action.rawValue)`", help: "say `action: evaluate-connection`, or remove it",
      at: connections.entry.keyLocation)
  }
  return Rule(
    name: draft.name, match: draft.match, action: action, connections: action == .evaluateConnection ? connections?.rules ?? [] : [],
    onUnknown: draft.onUnknown, location: node.location)
}
