import NetworkTypes
package import RoamwardCore

/// Reads a timeline for `roamward simulate`. `nil` if there are errors; steps are sorted by time.
///
/// `load` returns the text of a saved network that a step names, by its path relative to the timeline's folder; `nil` if it does not exist.
package func readTimeline(
  text: [UInt8], file: String, load: @escaping (String) -> [UInt8]?
) -> (timeline: Timeline?, diagnostics: [Diagnostic]) {
  let source = SourceText(file: file, bytes: text)
  let (root, problems) = readYAML(source)
  var reading = Reading(source, problems: problems)
  if root == nil, !problems.hasErrors { reading.error("a timeline begins with `version: 1`, but there is nothing here", at: source.start) }
  var others: [Diagnostic] = []
  let timeline = root.flatMap { root in
    readTimeline(root, &reading) { path in
      guard let bytes = load(path) else { return nil }
      let (snapshot, diagnostics) = readSnapshot(text: bytes, file: path)
      others += diagnostics
      return snapshot
    }
  }
  let diagnostics = reading.problems.sorted + others
  return (diagnostics.contains { $0.severity == .error } ? nil : timeline, diagnostics)
}

private func readTimeline(_ root: Node, _ reading: inout Reading, load: (String) -> NetworkSnapshot?) -> Timeline? {
  guard isKnownVersion(root, &reading), var fields = Fields(root, of: "a timeline", &reading) else { return nil }
  _ = fields.take("version")
  let start = fields.optional("start", .localTime, &reading) ?? LocalTime(day: .mon, second: 8 * 3600)
  var steps: [Timeline.Step] = []
  var elapsed = Duration.zero
  if let entry = fields.take("steps") {
    guard case .sequence(let nodes) = entry.value.content else {
      reading.expected("a list of steps", at: entry.value, help: "put a dash before each: `- { at: 10s, network: cafe.yaml }`")
      return nil
    }
    for node in nodes {
      guard let step = readStep(node, after: elapsed, &reading, load: load) else { continue }
      elapsed = step.at
      steps.append(step)
    }
  }
  fields.finish(&reading)
  return Timeline(start: start, steps: steps)
}

/// One step: a time (`at` since the beginning, or `after` the step before), and one event.
private func readStep(
  _ node: Node, after elapsed: Duration, _ reading: inout Reading, load: (String) -> NetworkSnapshot?
) -> Timeline.Step? {
  guard var fields = Fields(node, of: "a step", &reading) else { return nil }
  let at = fields.optional("at", .duration, &reading)
  let after = fields.optional("after", .duration, &reading)
  if at != nil, after != nil { reading.error("`at` and `after` are two moments; give one", at: node.location) }
  var acts: [Timeline.Act] = []
  if let entry = fields.take("network") {
    if let network = readNetwork(entry.value, &reading, load: load) { acts.append(.network(network)) }
  }
  for (key, wantsUp) in [("up", true), ("down", false)] {
    guard let tunnel = fields.optional(key, .line, &reading) else { continue }
    let (lifetime, reason) = readHold(&fields, &reading)
    acts.append(.override(tunnel: tunnel, wantsUp: wantsUp, lifetime: lifetime, reason: reason))
  }
  if let entry = fields.take("resume") {
    if case .scalar(let name, _) = entry.value.content {
      acts.append(.resume(tunnel: name == "*" ? nil : name))
    } else {
      acts.append(.resume(tunnel: nil))
    }
  }
  if let entry = fields.take("peers") { acts += [readPeers(entry.value, &reading)].compactMap { $0 } }
  if let tunnel = fields.optional("packet", .line, &reading) { acts.append(.packet(tunnel: tunnel)) }
  if let name = fields.optional("look-up", .domain, &reading) {
    let resolves = fields.optional("resolves", .boolean, &reading) ?? true
    let addresses = fields.optional("addresses", .oneOrMore(.address), &reading) ?? []
    acts.append(.lookup(name, resolves: resolves, addresses: addresses))
  }
  if let time = fields.optional("clock", .localTime, &reading) { acts.append(.clock(time)) }
  if let entry = fields.take("expect") { acts.append(.expect(readExpectations(entry.value, &reading))) }
  fields.finish(&reading)
  if acts.count > 1 { reading.error("one thing happens in a step; here are \(acts.count)", help: "make a step of each", at: node.location) }
  return Timeline.Step(at: at ?? elapsed + (after ?? .zero), act: acts.first ?? .wait, location: node.location)
}

private enum Peers: String, CaseIterable, Sendable {
  case answer, silent
}

/// The peers of all tunnels, or of some by name.
private func readPeers(_ node: Node, _ reading: inout Reading) -> Timeline.Act? {
  guard case .mapping(let entries) = node.content else {
    return ValueReader<Peers>.word().read(node, &reading).map { .peers(answer: $0 == .answer) }
  }
  var answers: [String: Bool] = [:]
  for entry in entries { answers[entry.key] = ValueReader<Peers>.word().read(entry.value, &reading).map { $0 == .answer } }
  return .somePeers(answers)
}

/// A network: the file of a saved one, a snapshot in place, or `none`.
private func readNetwork(_ node: Node, _ reading: inout Reading, load: (String) -> NetworkSnapshot?) -> NetworkSnapshot? {
  switch node.content {
  case .scalar("none", isPlain: true), .null: return NetworkSnapshot()
  case .scalar(let path, _):
    if let snapshot = load(path) { return snapshot }
    reading.error(
      "the network \(quoted(path)) cannot be read", help: "name a file relative to this one, or write the network in place",
      at: node.location)
    return nil
  case .mapping: return readSnapshot(node, &reading)
  case .sequence, .refused:
    reading.expected("the file of a saved network, or one in place", at: node)
    return nil
  }
}

private func readHold(_ fields: inout Fields, _ reading: inout Reading) -> (Timeline.SaidLifetime, String?) {
  let length = fields.optional("for", .duration, &reading)
  let reason = fields.optional("reason", .line, &reading)
  let until = fields.take("until")
  var lifetime = Timeline.SaidLifetime.networkChange
  if let length { lifetime = .seconds(max(1, length.components.seconds)) }
  if let until {
    switch until.value.content {
    case .scalar("network-change", _): lifetime = .networkChange
    case .scalar("resume", _): lifetime = .resume
    // Recordings contain a number of seconds.
    case .scalar(let text, _) where decimal(text) != nil: lifetime = .seconds(Int64(decimal(text) ?? 1))
    default: reading.expected("network-change, resume, or a number of seconds", at: until.value)
    }
  }
  return (lifetime, reason)
}

/// Tunnels with their expected decision or state.
private func readExpectations(_ node: Node, _ reading: inout Reading) -> [String: Timeline.Expectation] {
  guard case .mapping(let entries) = node.content else {
    reading.expected("tunnels with what they ought to do", at: node, help: "for example `expect: { corp: connected }`")
    return [:]
  }
  let states = TunnelMachine.State.statuses
  var expectations: [String: Timeline.Expectation] = [:]
  for entry in entries {
    guard case .scalar(let word, _) = entry.value.content else {
      reading.expected("a decision or a state", at: entry.value)
      continue
    }
    if let decision = Decision.Outcome(rawValue: word) {
      expectations[entry.key] = Timeline.Expectation(decision: decision)
    } else if states.contains(word) {
      expectations[entry.key] = Timeline.Expectation(state: word)
    } else {
      let known = ["connect", "disconnect", "ignore", "evaluate-connection", "pending"] + states
      reading.error(
        "\(quoted(word)) is neither a decision nor a state",
        help: nearest(to: word, among: known).map { "did you mean \($0)?" } ?? "known: \(known.joined(separator: ", "))",
        at: entry.value.location)
    }
  }
  return expectations
}
