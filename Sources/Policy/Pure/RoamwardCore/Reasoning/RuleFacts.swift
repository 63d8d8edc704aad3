extension PolicySet {
  /// The facts that the rules of tunnels ask for, themselves or through named networks.
  package func ruleFacts(of tunnels: [TunnelPolicy]) -> Set<FactKind> {
    var facts: Set<FactKind> = tunnels.contains { $0.availability.owner != nil } ? [.users] : []
    for condition in NetworkTable(networks).closure(of: tunnels.flatMap { $0.onDemand.rules.map(\.match) }) {
      condition.forEachKey { key in if let kind = key.kind { facts.insert(kind) } }
    }
    return facts
  }
}
