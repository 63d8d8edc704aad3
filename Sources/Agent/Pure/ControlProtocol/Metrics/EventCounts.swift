internal import JSON
internal import NetworkTypes
package import RoamwardCore

/// The number of events of each kind since the agent started: states, failures and decisions by tunnel, the rest by reason.
///
/// The number of counts is bounded: tunnels have policies, and all other words are of fixed sets.
package struct EventCounts: Equatable, Sendable {
  /// The kinds of events that are counted. Each is a metric.
  package enum Subject: String, Hashable, Sendable, CaseIterable, JSONEnum {
    /// A tunnel entered a state; `detail` is the state.
    case state
    /// An attempt or a connected tunnel failed; `detail` is the reason code.
    case failure
    /// The decision on a tunnel changed; `detail` is the decision.
    case decision
    /// A manual override was set (`up`, `down`) or has ended (`ended`).
    case override
    /// A look-up of a name started a tunnel.
    case lookup
    /// Policies took force, or were refused; `detail` is the reason code.
    case policy
    /// The kill switch blocks something else than before; `detail` is the reason code.
    case firewall
    /// Changes by another program were repaired; `detail` is the reason code.
    case repair
    /// A problem was reported; `detail` is the reason code.
    case warning
    /// The primary network changed; `detail` is the reason code.
    case network
    /// The network answered a probe; `detail` is the answer.
    case probe
    /// The agent woke; `detail` is the reason.
    case wake
  }

  package struct Key: Hashable, Sendable, Comparable {
    package var subject: Subject
    package var tunnel: String?
    package var detail: String

    package static func < (a: Self, b: Self) -> Bool {
      (a.subject.rawValue, a.tunnel ?? "", a.detail) < (b.subject.rawValue, b.tunnel ?? "", b.detail)
    }
  }

  private var counts: [Key: Int64] = [:]

  package init() {}

  package mutating func count(_ event: Event.Kind) {
    let code = event.code?.rawValue ?? ""
    switch event {
    case .state(let tunnel, _, let to, _, _): add(.state, tunnel, to)
    case .failure(let tunnel, let failure): add(.failure, tunnel, failure.code.rawValue)
    case .decision(let tunnel, let outcome, _, _, _, _): add(.decision, tunnel, outcome)
    case .override(let tunnel, let override, _): add(.override, tunnel, override.map { $0.wantsUp ? "up" : "down" } ?? "ended")
    case .lookup(let lookup): add(.lookup, lookup.tunnel, code)
    case .policy: add(.policy, nil, code)
    case .firewall: add(.firewall, nil, code)
    case .repair(_, _, let count): add(.repair, nil, code, Int64(count))
    case .warning: add(.warning, nil, code)
    case .network: add(.network, nil, code)
    // They repeat a state, or are in the words of a provider.
    case .timer, .snapshot, .provider, .providerLog, .question, .nameRoute: break
    }
  }

  package mutating func countWake(_ reason: WakeReason) { add(.wake, nil, reason.rawValue) }

  /// `answer`: `ok`, `fail`, `unknown`, `open` or `closed`.
  package mutating func countProbe(_ answer: String) { add(.probe, nil, answer) }

  /// Forgets the counts of all other tunnels.
  package mutating func keep(_ tunnels: Set<String>) {
    counts = counts.filter { $0.key.tunnel.map(tunnels.contains) ?? true }
  }

  private mutating func add(_ subject: Subject, _ tunnel: String?, _ detail: String, _ number: Int64 = 1) {
    counts[Key(subject: subject, tunnel: tunnel, detail: detail), default: 0] += number
  }

  /// The counts in a stable order.
  package var report: [MetricsReport.Count] {
    counts.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) }
  }
}
