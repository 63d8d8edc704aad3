/// What there is of our table.
package enum ObservedFirewall: Hashable, Sendable {
  case absent
  /// Of this content (`FirewallTable.digest`); `isIntact`: and it is known that nobody has changed it since.
  /// `isGuarding`: it holds something back.
  case table(digest: String, isIntact: Bool, isGuarding: Bool)
  /// The kernel has refused a table of this content, and would again.
  case refused(digest: String, reason: String)
  case unknown(reason: String)

  package func isSatisfied(by table: FirewallTable) -> Bool {
    if case .table(let digest, let isIntact, _) = self { isIntact && digest == table.digest } else { false }
  }

  /// Why it would be no use to try.
  package func refusal(of table: FirewallTable) -> String? {
    switch self {
    case .refused(let digest, let reason): digest == table.digest ? reason : nil
    case .unknown(let reason): reason
    case .absent, .table: nil
    }
  }
}
