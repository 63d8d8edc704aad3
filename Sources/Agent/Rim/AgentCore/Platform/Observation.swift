package import KernelModel
package import RoamwardCore

/// The scope of an observation.
package struct ObservationRequest: Equatable, Sendable {
  package var facts: Set<FactKind>
  /// Tables that tunnels may have routes in.
  package var tables: [UInt32]
  /// Whether our objects in tables of no tunnel are included: leftover state of a killed agent.
  package var everywhere: Bool
  /// WireGuard links to read.
  package var wireGuardLinks: [String]
  /// Links that tunnels of other kinds create: their arrival is an event.
  package var foreignLinks: [String]
  package var firewall: FirewallDetail
  /// The detail in which the table of `names: capture` is read.
  package var nameCapture: FirewallDetail
  /// Links whose name servers the agent sets; `nil`: no tunnel has name servers.
  package var resolverLinks: Set<String>?
  /// Whether steps have just been applied: a plan follows, so what was announced of our objects until now needs no pass of its own.
  package var followsSteps = false

  package init(
    facts: Set<FactKind> = .all, tables: [UInt32] = [], everywhere: Bool = false, wireGuardLinks: [String] = [],
    foreignLinks: [String] = [], firewall: FirewallDetail = .nothing, nameCapture: FirewallDetail = .nothing,
    resolverLinks: Set<String>? = nil
  ) {
    self.facts = facts
    self.tables = tables
    self.everywhere = everywhere
    self.wireGuardLinks = wireGuardLinks
    self.foreignLinks = foreignLinks
    self.firewall = firewall
    self.nameCapture = nameCapture
    self.resolverLinks = resolverLinks
  }
}

/// The detail in which a table of ours is read.
package enum FirewallDetail: Equatable, Sendable {
  case nothing
  /// Only whether a table is left by an earlier agent; if so, as `whole`.
  case leftover
  /// Only which table exists.
  case name
  /// Also whether another program has changed it.
  case whole
}

/// The machine at one moment: the input of decisions and plans.
package struct Observation: Equatable, Sendable {
  package var snapshot: NetworkSnapshot
  package var state: ObservedState
  /// The sources of the snapshot's facts.
  package var provenance: Provenance

  package init(snapshot: NetworkSnapshot, state: ObservedState, provenance: Provenance = Provenance()) {
    self.snapshot = snapshot
    self.state = state
    self.provenance = provenance
  }
}

/// The part of an observation that concerns name servers.
package struct ResolverObservation: Equatable, Sendable {
  package var file: ObservedResolvConf
  package var resolver: ObservedResolver

  package init(file: ObservedResolvConf, resolver: ObservedResolver) {
    self.file = file
    self.resolver = resolver
  }
}
