/// What there is of our table.
package enum ObservedFirewall: Hashable, Sendable {
  case absent
  /// Of this content (`FirewallTable.digest`); `isIntact`: and it is known that nobody has changed it since.
  case table(digest: String, isIntact: Bool)
  case unknown(because: String)

  package func isSatisfied(by table: FirewallTable?) -> Bool {
    switch (self, table) {
    case (.absent, nil), (.unknown, nil): true
    case (.table(let digest, let isIntact), let table?): isIntact && digest == table.digest
    case (.table, nil), (.absent, _?), (.unknown, _?): false
    }
  }
}
