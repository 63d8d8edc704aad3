import FlightRecord
package import NetworkTypes
package import RoamwardCore

/// The page of `roamward history --html`: bands of networks, decisions, tunnels and blocked time, and every moment with its rules.
package struct HistoryPage {
  /// The most moments; the newest are shown.
  private static let limit = 2000

  private let history: RecordedHistory
  private let policies: PolicySet
  private let identification: String
  private let calendar: LocalCalendar
  private let picture: Picture
  /// The rules as they are shown, and the place of each.
  private var rules: [String] = []
  private var places: [RulesKey: Int] = [:]

  /// The inputs on which the findings of a tunnel's rules depend.
  private struct RulesKey: Hashable {
    var tunnel: String
    var network: Int
    var second: Int?
    var rule: Int?
  }

  package init(
    _ history: RecordedHistory, policies: PolicySet, identification: String, from: Timestamp, to: Timestamp, _ calendar: LocalCalendar
  ) {
    self.history = history
    self.policies = policies
    self.identification = identification
    self.calendar = calendar
    picture = Picture(from: max(from, history.begin ?? from), to: min(to, history.end ?? to), calendar: calendar)
  }

  package mutating func text() -> String {
    let (from, to) = (picture.from, picture.to)
    guard from < to else { return page(title: "Roamward: history", ["<p>Nothing is recorded for this time.</p>"]) }
    let all = history.passes.filter { from <= $0.time && $0.time <= to && (!$0.changed.isEmpty || $0.isFirst) }
    let shown = Array(all.suffix(Self.limit))
    let times = shown.map(\.time)
    func anchor(_ time: Timestamp) -> String? {
      let place = times.firstIndex { time <= $0 } ?? times.indices.last
      return place.map { "m\($0)" }
    }
    let tunnels = history.tunnels(from: from, to: to)
    let networks = clip(history.networkSpans, from, to)
    var bands = [Band.networks(networks, anchor: anchor)]
    for tunnel in tunnels {
      bands.append(.decisions("\(tunnel): decision", clip(history.decisionSpans(of: tunnel), from, to), anchor: anchor))
      bands.append(.states("\(tunnel): tunnel", clip(history.stateSpans(of: tunnel), from, to)))
    }
    bands.append(.blocked(clip(history.blockedSpans, from, to)))
    var body = [picture.html(bands), legend(of: networks), legend]
    body += notes(shown: shown.count, of: all.count)
    body.append("<h2>Moments</h2>")
    body += shown.enumerated().map { moment($1, "m\($0)") }
    if !rules.isEmpty {
      body.append("<h2>Rules</h2>")
      body += rules.enumerated().map { "<section class=\"rules\" id=\"r\($0)\">\n\($1)\n</section>" }
    }
    return page(title: "Roamward: \(calendar.text(from)) to \(calendar.text(to))", body)
  }

  private func notes(shown: Int, of count: Int) -> [String] {
    var lines = history.defects
    lines += history.gaps(from: picture.from, to: picture.to).map { $0.text(calendar) }
    if shown < count { lines.append("the last \(shown) of \(count) moments are shown") }
    return lines.isEmpty ? [] : ["<div class=\"note\"><ul>\(lines.map { "<li>\(html($0))</li>" }.joined())</ul></div>"]
  }

  private mutating func moment(_ pass: RecordedHistory.Pass, _ id: String) -> String {
    let rows = pass.changed.sorted().map { row(pass, tunnel: $0) }
    return
      "<section class=\"moment\" id=\"\(id)\"><h3>\(html(calendar.text(pass.time))) · \(html(history.networks[pass.network].label))</h3>"
      + "<ul>\(rows.joined())</ul></section>"
  }

  private mutating func row(_ pass: RecordedHistory.Pass, tunnel: String) -> String {
    guard let decision = pass.decisions[tunnel] else { return "" }
    let rule = decision.rule.map { RoamwardCore.text(forRule: $0, name: decision.name) } ?? "no rule"
    let link = rulesPlace(pass, tunnel, decision).map { " <a href=\"#r\($0)\">rules</a>" } ?? ""
    let reason = decision.reason.map { ": \($0)" } ?? ""
    return "<li><strong>\(html(tunnel))</strong>: \(html(decision.outcome.rawValue)) (\(html(rule + reason)))\(link)</li>"
  }

  /// The place of the rules as they were found then; `nil`: other policies decided.
  private mutating func rulesPlace(_ pass: RecordedHistory.Pass, _ tunnel: String, _ decision: RecordedDecision) -> Int? {
    guard history.policies[pass.policy].digest == identification, let policy = policies.tunnel(named: tunnel) else { return nil }
    let key = RulesKey(
      tunnel: tunnel, network: pass.network, second: policies.timeWindows.isEmpty ? nil : pass.localSecond, rule: decision.rule)
    if let place = places[key] { return place }
    let snapshot = history.snapshot(of: pass)
    let trace = Evaluator(networks: policies.networks).trace(policy, on: snapshot)
    rules.append("<h3>\(html(tunnel)) · \(html(snapshot.label))</h3>\n\(rulesHTML(trace, decidedBy: decision.rule))")
    places[key] = rules.count - 1
    return rules.count - 1
  }
}

extension RecordedHistory.Gap {
  package func text(_ calendar: LocalCalendar) -> String {
    let time = "\(calendar.text(from)) to \(calendar.text(to, after: from))"
    return lost == 0 ? "not recorded: \(time) (no agent ran)" : "not recorded: \(time) (\(lost) entries could not be written)"
  }
}

/// The page of `roamward explain --html`: the rules of a tunnel on one network.
package func explanationPage(of policy: TunnelPolicy, _ decision: Decision, _ trace: [RuleTrace], on network: NetworkSnapshot) -> String {
  var body = ["<p><strong>\(html(decision.outcome.rawValue))</strong>, because \(html(decision.ruleReason))</p>"]
  if let inert = decision.inert { body.append("<p>not acted on: \(html(inert.text))</p>") }
  body.append("<section class=\"rules\">\n\(rulesHTML(trace, decidedBy: decision.rule?.index))\n</section>")
  return page(title: "Roamward: \(policy.name) on \(network.label)", body)
}

/// The page of `roamward simulate --history --html`: both lives as bands, and what would have been different.
package func comparisonPage(
  _ comparison: Comparison, _ old: Life, _ new: Life, _ history: RecordedHistory, from: Timestamp, to: Timestamp, _ calendar: LocalCalendar
) -> String {
  let picture = Picture(from: max(from, history.begin ?? from), to: min(to, history.end ?? to), calendar: calendar)
  guard picture.from < picture.to else { return page(title: "Roamward: simulation", ["<p>Nothing is recorded for this time.</p>"]) }
  let networks = clip(history.networkSpans, picture.from, picture.to)
  var bands = [Band.networks(networks) { _ in nil }]
  for tunnel in Set(old.tunnels.keys).union(new.tunnels.keys).sorted() {
    bands.append(.states("\(tunnel): in force", old.tunnels[tunnel] ?? []))
    bands.append(.states("\(tunnel): new", new.tunnels[tunnel] ?? []))
  }
  let differences = comparison.differences.map { difference in
    [
      "\(calendar.text(difference.from)) to \(calendar.text(difference.to, after: difference.from))", difference.network, difference.tunnel,
      difference.before?.text ?? "no such tunnel", difference.after?.text ?? "no such tunnel",
    ]
  }
  return page(
    title: "Roamward: \(calendar.text(picture.from)) to \(calendar.text(picture.to)) with other policies",
    [
      picture.html(bands), legend(of: networks), legend, "<h2>Totals</h2>",
      table(["", "in force", "new"], comparison.rows.map { [$0.what, $0.before, $0.after] }),
      "<h2>Differences</h2>",
      differences.isEmpty
        ? "<p>No decision would have been different.</p>" : table(["time", "network", "tunnel", "in force", "new"], differences),
    ])
}
