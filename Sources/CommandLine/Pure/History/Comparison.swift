package import NetworkTypes
package import RoamwardCore

/// The differences of the recorded days under two policy sets.
package struct Comparison: Sendable {
  /// A time in which a tunnel would have been decided otherwise, or up instead of down.
  package struct Difference: Equatable, Sendable {
    package var from: Timestamp
    package var to: Timestamp
    package var tunnel: String
    package var network: String
    /// `nil`: the set has no such tunnel.
    package var before: Life.State?
    package var after: Life.State?
  }

  /// Totals of one of the two.
  package struct Totals: Equatable, Sendable {
    package var up: [String: Duration] = [:]
    /// The time on untrusted networks with no tunnel up and nothing blocked.
    package var unprotected = Duration.zero
    /// The time in which a kill switch blocks because its tunnel is not up.
    package var blocked = Duration.zero
    /// The number of decisions that waited for a fact.
    package var waits = 0
  }

  package private(set) var differences: [Difference] = []
  package private(set) var before = Totals()
  package private(set) var after = Totals()
  /// The time on untrusted networks.
  package private(set) var untrusted = Duration.zero

  /// `isTrusted`: by the place of a network in the history.
  package init(_ old: Life, _ new: Life, _ history: RecordedHistory, isTrusted: (Int) -> Bool) {
    let trust = Dictionary(Set(old.networks.map(\.value)).map { ($0, isTrusted($0) || history.networks[$0].primaryLink == nil) }) { a, _ in
      a
    }
    let exposed = old.networks.filter { !(trust[$0.value] ?? true) }
    untrusted = exposed.reduce(.zero) { $0 + $1.duration }
    before = Totals(old, exposed)
    after = Totals(new, exposed)
    for tunnel in Set(old.tunnels.keys).union(new.tunnels.keys).sorted() { compare(tunnel, old, new, history) }
    differences = differences.sorted { ($0.from, $0.tunnel) < ($1.from, $1.tunnel) }
  }

  private mutating func compare(_ tunnel: String, _ old: Life, _ new: Life, _ history: RecordedHistory) {
    let (a, b) = (old.tunnels[tunnel] ?? [], new.tunnels[tunnel] ?? [])
    var found: [Difference] = []
    for network in old.networks {
      let label = history.networks[network.value].label
      let (mine, theirs) = (clip(a, network.from, network.to), clip(b, network.from, network.to))
      var edges = Set([network.from, network.to])
      for span in mine + theirs { edges.formUnion([span.from, span.to]) }
      let sorted = edges.sorted()
      var (i, j) = (0, 0)
      for (from, to) in zip(sorted, sorted.dropFirst()) {
        while i < mine.count, mine[i].to <= from { i += 1 }
        while j < theirs.count, theirs[j].to <= from { j += 1 }
        let before = i < mine.count && mine[i].from <= from ? mine[i].value : nil
        let after = j < theirs.count && theirs[j].from <= from ? theirs[j].value : nil
        guard !Self.areSame(before, after) else { continue }
        let difference = Difference(from: from, to: to, tunnel: tunnel, network: label, before: before, after: after)
        if let last = found.last, last.to == from, last.network == label, Self.areSame(last.before, before), Self.areSame(last.after, after)
        {
          found[found.count - 1].to = to
        } else {
          found.append(difference)
        }
      }
    }
    differences += Self.merged(found)
  }

  /// Differences that only a moment separates are one: facts arrive one after the other at the beginning of each visit of a network.
  private static func merged(_ found: [Difference]) -> [Difference] {
    var all: [Difference] = []
    for difference in found {
      if difference.isBrief, let last = all.last, difference.from - last.to <= brief { continue }
      if let last = all.last, difference.from - last.to <= brief, last.network == difference.network,
        areSame(last.before, difference.before), areSame(last.after, difference.after)
      {
        all[all.count - 1].to = difference.to
      } else {
        all.append(difference)
      }
    }
    return all
  }

  fileprivate static let brief = Duration.seconds(5)

  /// Whether a person would notice no difference: the rule may be another one.
  private static func areSame(_ a: Life.State?, _ b: Life.State?) -> Bool {
    a?.outcome == b?.outcome && a?.isUp == b?.isUp && a?.isBlocking == b?.isBlocking
  }
}

extension Comparison.Totals {
  fileprivate init(_ life: Life, _ exposed: [Span<Int>]) {
    waits = life.waits
    up = life.tunnels.mapValues { spans in spans.reduce(.zero) { $0 + ($1.value.isUp ? $1.duration : .zero) } }
    let protected = union(life.tunnels.values.flatMap { $0.filter { $0.value.isUp || $0.value.isBlocking } })
    unprotected = exposed.reduce(.zero) { $0 + $1.duration - overlap($1, protected) }
    blocked = union(life.tunnels.values.flatMap { $0.filter(\.value.isBlocking) }).reduce(.zero) { $0 + ($1.to - $1.from) }
  }
}

/// The times that any of the spans covers, in order.
private func union(_ spans: [Span<Life.State>]) -> [(from: Timestamp, to: Timestamp)] {
  var all: [(from: Timestamp, to: Timestamp)] = []
  for span in spans.sorted(by: { $0.from < $1.from }) {
    if let last = all.last, span.from <= last.to {
      all[all.count - 1].to = max(last.to, span.to)
    } else {
      all.append((span.from, span.to))
    }
  }
  return all
}

/// The part of a span that the times cover.
private func overlap(_ span: Span<Int>, _ times: [(from: Timestamp, to: Timestamp)]) -> Duration {
  // The first one that ends after the span begins.
  var (low, high) = (0, times.count)
  while low < high {
    let middle = (low + high) / 2
    if times[middle].to <= span.from { low = middle + 1 } else { high = middle }
  }
  var covered = Duration.zero
  while low < times.count, times[low].from < span.to {
    covered = covered + max(.zero, min(times[low].to, span.to) - max(times[low].from, span.from))
    low += 1
  }
  return covered
}

// MARK: Text

extension Comparison {
  /// The text of `roamward simulate --history`: only what would have been different, and the totals.
  package func text(_ calendar: LocalCalendar) -> String {
    var lines: [String] = []
    if differences.isEmpty { lines.append("no decision would have been different") }
    for difference in differences where !difference.isBrief {
      let length = RoamwardCore.text(for: difference.to - difference.from)
      lines.append(
        "\(calendar.text(difference.from)) to \(calendar.text(difference.to, after: difference.from)) (\(length)), \(difference.network)")
      lines.append("  \(difference.tunnel): \(standing(difference.before))  ->  \(standing(difference.after))")
    }
    let count = differences.count(where: \.isBrief)
    if count > 0 { lines.append("\(count) differences of less than \(RoamwardCore.text(for: Self.brief))") }
    lines.append("")
    lines += table
    return lines.map { $0 + "\n" }.joined()
  }

  private func standing(_ standing: Life.State?) -> String { standing?.text ?? "no such tunnel" }

  /// The totals of both, as rows of text.
  package var rows: [(what: String, before: String, after: String)] {
    let names = Set(before.up.keys).union(after.up.keys).sorted()
    func length(_ duration: Duration?) -> String { duration.map { RoamwardCore.text(for: $0) } ?? "-" }
    return names.map { ("\($0) up", length(before.up[$0]), length(after.up[$0])) } + [
      ("unprotected, of \(length(untrusted)) on untrusted networks", length(before.unprotected), length(after.unprotected)),
      ("blocked by a kill switch", length(before.blocked), length(after.blocked)),
      ("decisions that waited", String(before.waits), String(after.waits)),
    ]
  }

  private var table: [String] {
    let rows = [("", "in force", "new")] + rows
    let widths = (columns(ofWidest: rows.map(\.0)), columns(ofWidest: rows.map(\.1)))
    return rows.map { "\(pad($0.0, widths.0))  \(pad($0.1, widths.1))  \($0.2)" }
  }
}

extension Comparison.Difference {
  fileprivate var isBrief: Bool { to - from < Comparison.brief }
}

extension Life.State {
  /// `connect (rule 2), up`.
  package var text: String {
    "\(outcome.rawValue) (\(rule)), \(isUp ? "up" : isBlocking ? "down, traffic blocked" : "down")"
  }
}

extension RecordedHistory {
  /// Whether a network is one of these of the policies. Facts that are not known do not make it one.
  package func isTrusted(_ place: Int, names: [String], of policies: PolicySet) -> Bool {
    Evaluator(networks: policies.networks).isOn(anyOf: names, networks[place])
  }
}
