/// The observed state of one of our tables of nftables: that of the kill switch, or that of `names: capture`.
package enum ObservedFirewall: Equatable, Sendable {
  /// No table.
  case absent
  /// A table with this content (`FirewallTable.digest`). `isIntact`: it is known to be unchanged since. `isGuarding`: it blocks something.
  case table(digest: String, isIntact: Bool, isGuarding: Bool)
  /// The kernel has refused a table of this content, and would refuse it again.
  case refused(digest: String, reason: String)
  case unknown(reason: String)
  /// The user who asks may not look at it. An agent never sees this.
  case denied

  /// Whether a kill switch is in it.
  package var isGuarding: Bool { if case .table(_, _, isGuarding: true) = self { true } else { false } }

  package func isSatisfied(by table: FirewallTable) -> Bool { isIntact(table.digest) }

  package func isSatisfied(by capture: NameCapture) -> Bool { isIntact(capture.digest) }

  /// The reason why a new attempt would fail too.
  package func refusal(of table: FirewallTable) -> String? { refusal(of: table.digest) }

  package func refusal(of capture: NameCapture) -> String? { refusal(of: capture.digest) }

  private func isIntact(_ wanted: String) -> Bool {
    if case .table(let digest, let isIntact, _) = self { isIntact && digest == wanted } else { false }
  }

  private func refusal(of wanted: String) -> String? {
    switch self {
    case .refused(let digest, let reason): digest == wanted ? reason : nil
    case .unknown(let reason): reason
    case .absent, .table, .denied: nil
    }
  }
}
