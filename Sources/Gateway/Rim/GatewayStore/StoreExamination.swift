import GatewayCore

extension GatewayStore {
  /// Everything that is wrong with the store: its file, references between rows, leases outside of their pools, the audit log.
  package func problems() throws(StoreError) -> [String] {
    var problems = try engine.problems()
    problems += try load().directory.inconsistencies
    let audit = try verifyAudit()
    if let broken = audit.broken {
      problems.append("audit log: entry \(broken) is not as it was written, or one before it is missing (\(audit.intact) are intact)")
    }
    return problems
  }
}
