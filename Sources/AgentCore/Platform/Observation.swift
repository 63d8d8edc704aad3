package import KernelModel
package import RoamwardCore

/// What an observation is for.
package struct ObservationRequest: Hashable, Sendable {
  package var facts: Set<FactKind>
  /// Tables that tunnels may have routes in.
  package var tables: [UInt32]
  /// Also what is ours in tables that no tunnel has: leftover state of a killed agent.
  package var everywhere: Bool
  /// WireGuard links to ask about.
  package var wireGuardLinks: [String]
  /// Links that tunnels of other kinds bring: that they come is news.
  package var foreignLinks: [String]
  package var firewall: FirewallDetail
  /// Links whose name servers are ours to set; `nil`: no tunnel brings any.
  package var resolverLinks: Set<String>?

  package init(
    facts: Set<FactKind> = .all, tables: [UInt32] = [], everywhere: Bool = false, wireGuardLinks: [String] = [],
    foreignLinks: [String] = [], firewall: FirewallDetail = .nothing, resolverLinks: Set<String>? = nil
  ) {
    self.facts = facts
    self.tables = tables
    self.everywhere = everywhere
    self.wireGuardLinks = wireGuardLinks
    self.foreignLinks = foreignLinks
    self.firewall = firewall
    self.resolverLinks = resolverLinks
  }
}

/// How much has to be known of our firewall table.
package enum FirewallDetail: Hashable, Sendable {
  case nothing
  /// Which one there is.
  case name
  /// And whether another program has changed it.
  case whole
}

/// The machine at one moment: what decisions judge, and what plans change.
package struct Observation: Hashable, Sendable {
  package var snapshot: NetworkSnapshot
  package var state: ObservedState
  /// Where the snapshot's facts come from.
  package var provenance: Provenance

  package init(snapshot: NetworkSnapshot, state: ObservedState, provenance: Provenance = Provenance()) {
    self.snapshot = snapshot
    self.state = state
    self.provenance = provenance
  }
}

/// The part of an observation that is about name servers.
package struct ResolverObservation: Hashable, Sendable {
  package var file: ObservedResolvConf
  package var resolver: ObservedResolver

  package init(file: ObservedResolvConf, resolver: ObservedResolver) {
    self.file = file
    self.resolver = resolver
  }
}
