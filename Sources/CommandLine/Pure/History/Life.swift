package import NetworkTypes
package import RoamwardCore

/// A value over a time.
package struct Span<Value: Hashable & Sendable>: Hashable, Sendable {
  package var from: Timestamp
  package var to: Timestamp
  package var value: Value

  package init(from: Timestamp, to: Timestamp, value: Value) {
    self.from = from
    self.to = to
    self.value = value
  }

  package var duration: Duration { to - from }
}

/// The recorded days, lived through with policies: what the rules decide, and which tunnels are wanted up.
///
/// Networks and manual overrides are those of the record. Peers are taken to answer at once, because only the real ones are recorded.
package struct Life: Sendable {
  /// The state of a tunnel under the policies.
  package struct State: Hashable, Sendable {
    package var outcome: Decision.Outcome
    package var rule: String
    package var isUp: Bool
    /// Whether its kill switch blocks meanwhile.
    package var isBlocking: Bool
  }

  package private(set) var tunnels: [String: [Span<State>]] = [:]
  package private(set) var networks: [Span<Int>] = []
  /// The number of decisions that waited for a fact.
  package private(set) var waits = 0
  private var open: [String: Span<State>] = [:]
  private var openNetwork: Span<Int>?

  /// Lives from `from` to `to`; what was before counts for the state at `from`.
  package init(_ history: RecordedHistory, policies: PolicySet, from: Timestamp, to: Timestamp) {
    var run = Run(policies)
    var last: (pass: RecordedHistory.Pass, network: NetworkIdentity)?
    for item in history.items where item.time <= to {
      switch item {
      case .event: break
      case .gap(let gap):
        if let last { run.goOn(from: last.pass, history, until: nil, limit: gap.from) { take($0, $1, $2) } }
        close(at: gap.from)
        last = nil
        run = Run(policies)
      case .pass(let pass):
        if let last { run.goOn(from: last.pass, history, until: pass.now, limit: pass.time) { take($0, $1, $2) } }
        let snapshot = history.networks[pass.network]
        let network = NetworkIdentity(of: snapshot)
        if pass.waits != nil || last.map({ !$0.network.mayBeSame(as: network) }) ?? true {
          run.restartWaits(hasNetwork: snapshot.primaryLink != nil)
        }
        run.step(pass, history, at: pass.now) { take($0, $1, $2) }
        show(pass.network, at: pass.time)
        last = (pass, network)
      }
    }
    let end = history.end.map { min($0, to) } ?? to
    if let last { run.goOn(from: last.pass, history, until: nil, limit: end) { take($0, $1, $2) } }
    close(at: end)
    clip(from: from, to: to)
  }

  // MARK: Spans

  private mutating func take(_ tunnel: String, _ standing: State, _ time: Timestamp) {
    if let span = open[tunnel] {
      if span.value == standing { return }
      tunnels[tunnel, default: []].append(Span(from: span.from, to: max(span.from, time), value: span.value))
    }
    open[tunnel] = Span(from: time, to: time, value: standing)
  }

  private mutating func show(_ network: Int, at time: Timestamp) {
    if openNetwork?.value == network { return }
    if let span = openNetwork { networks.append(Span(from: span.from, to: max(span.from, time), value: span.value)) }
    openNetwork = Span(from: time, to: time, value: network)
  }

  private mutating func close(at time: Timestamp) {
    for (tunnel, span) in open { tunnels[tunnel, default: []].append(Span(from: span.from, to: max(span.from, time), value: span.value)) }
    if let span = openNetwork { networks.append(Span(from: span.from, to: max(span.from, time), value: span.value)) }
    open = [:]
    openNetwork = nil
  }

  private mutating func clip(from: Timestamp, to: Timestamp) {
    tunnels = tunnels.mapValues { $0.clipped(from, to) }
    networks = networks.clipped(from, to)
    waits = tunnels.values.reduce(0) { $0 + $1.count { $0.value.outcome == .pending && from <= $0.from } }
  }
}

extension [Span<Life.State>] {
  fileprivate func clipped(_ from: Timestamp, _ to: Timestamp) -> Self { clip(self, from, to) }
}

extension [Span<Int>] {
  fileprivate func clipped(_ from: Timestamp, _ to: Timestamp) -> Self { clip(self, from, to) }
}

/// The spans within a time.
func clip<Value>(_ spans: [Span<Value>], _ from: Timestamp, _ to: Timestamp) -> [Span<Value>] {
  spans.compactMap { span in
    let clipped = Span(from: max(span.from, from), to: min(span.to, to), value: span.value)
    return clipped.from < clipped.to ? clipped : nil
  }
}

/// The scheduler with what it needs, between two gaps.
private struct Run {
  /// The most deadlines between two entries of the record.
  private static let limit = 100_000

  private let policies: PolicySet
  private var scheduler = DecisionScheduler()
  private var up: [String: Bool] = [:]

  init(_ policies: PolicySet) { self.policies = policies }

  mutating func restartWaits(hasNetwork: Bool) { scheduler.restartWaits(hasNetwork: hasNetwork) }

  /// Evaluates the rules on the network of a pass, at that moment or later.
  mutating func step(
    _ pass: RecordedHistory.Pass, _ history: RecordedHistory, at now: Moment, _ take: (String, Life.State, Timestamp) -> Void
  ) {
    let elapsed = now - pass.now
    let time = pass.time + elapsed
    scheduler.replay(overrides: pass.overrides.mapValues(\.manual), waits: nil)
    let up = up
    let snapshot = history.snapshot(of: pass, after: elapsed)
    let verdicts = scheduler.decide(
      on: policies.owned(by: snapshot.users), snapshot, changed: pass.changedAt, at: now, time: time
    ) { up[$0] ?? false }
    for verdict in verdicts {
      let name = verdict.policy.name
      switch verdict.intent {
      case .up: self.up[name] = true
      case .down: self.up[name] = false
      case .armed, .watched, .unchanged: break
      }
      let isUp = self.up[name] ?? false
      let isBlocking =
        !isUp && verdict.policy.guarding != .off && (verdict.decision.outcome == .pending || [.up, .armed].contains(verdict.guarding))
      take(
        name,
        Life.State(
          outcome: verdict.decision.outcome, rule: verdict.decision.rule?.text ?? "no rule", isUp: isUp, isBlocking: isBlocking),
        time)
    }
  }

  /// Evaluates at every deadline until the next entry of the record.
  mutating func goOn(
    from pass: RecordedHistory.Pass, _ history: RecordedHistory, until end: Moment?, limit: Timestamp,
    _ take: (String, Life.State, Timestamp) -> Void
  ) {
    var now = pass.now
    for _ in 0..<Self.limit {
      let elapsed = now - pass.now
      let next = scheduler.nextDeadline(
        of: policies, history.snapshot(of: pass, after: elapsed), seen: now, at: now, time: pass.time + elapsed)
      guard let next, end.map({ next < $0 }) ?? true else { return }
      now = max(next, now + .milliseconds(1))
      guard pass.time + (now - pass.now) < limit else { return }
      step(pass, history, at: now, take)
    }
  }
}
