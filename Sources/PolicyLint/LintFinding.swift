package import RoamwardCore

/// Something that a policy says, but probably does not mean.
package struct LintFinding: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// Earlier rules hold wherever this one does.
    case shadowedRule = "shadowed-rule"
    /// A rule whose match contradicts itself.
    case impossibleRule = "impossible-rule"
    case impossibleNetwork = "impossible-network"
    /// There are networks on which no rule matches.
    case noCatchAll = "no-catch-all"
    case pointlessNot = "pointless-not"
    case unusedNetwork = "unused-network"
    /// A rule that starts the tunnel for look-ups of names, which this version does not do, beside a kill switch.
    case killSwitchNotStarted = "kill-switch-not-started"
    /// A tunnel goes down on facts that any stranger's network could show.
    case weakEvidence = "weak-evidence"
    /// Two enterprise tunnels are wanted on one network, where only one runs.
    case exclusiveTunnels = "exclusive-tunnels"
    case overlappingRoutes = "overlapping-routes"
    case overlappingDomains = "overlapping-domains"
    case pointlessExclusion = "pointless-exclusion"
    case endpointInDomains = "endpoint-in-domains"
    case probeInTunnel = "probe-in-tunnel"
    case unroutedServer = "unrouted-server"
    /// A tunnel's link would be called as another link is.
    case takenLinkName = "taken-link-name"
    /// A WireGuard file without a peer.
    case noPeer = "no-peer"
    /// An endpoint at which no gateway can be.
    case unusableEndpoint = "unusable-endpoint"
  }

  package enum Severity: String, Hashable, Sendable {
    case warning
  }

  package var kind: Kind
  package var severity = Severity.warning
  /// One line, lower case, without a full stop.
  package var message: String
  /// One line with the cure.
  package var help: String
  package var location: SourceLocation
  /// The other place that has to do with it.
  package var related: SourceLocation?

  package init(_ kind: Kind, _ message: String, help: String, at location: SourceLocation, related: SourceLocation? = nil) {
    self.kind = kind
    self.message = message
    self.help = help
    self.location = location
    self.related = related
  }
}
