/// The observed state of our firewall table.
package enum ObservedFirewall: Hashable, Sendable {
  /// No table.
  case absent
  /// A table with this content (`FirewallTable.digest`). `isIntact`: it is known to be unchanged since. `isGuarding`: it blocks something.
  case table(digest: String, isIntact: Bool, isGuarding: Bool)
  /// The kernel has refused a table of this content, and would refuse it again.
  case refused(digest: String, reason: String)
  case unknown(reason: String)

  package func isSatisfied(by table: FirewallTable) -> Bool {
    if case .table(let digest, let isIntact, _) = self { isIntact && digest == table.digest } else { false }
  }

  /// The reason why a new attempt would fail too.
  package func refusal(of table: FirewallTable) -> String? {
    switch self {
    case .refused(let digest, let reason): digest == table.digest ? reason : nil
    case .unknown(let reason): reason
    case .absent, .table: nil
    }
  }
}
