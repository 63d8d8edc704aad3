package import RoamwardCore

/// A likely mistake in a policy.
package struct LintFinding: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// Earlier rules match wherever this one does.
    case shadowedRule = "shadowed-rule"
    /// A rule whose match contradicts itself.
    case impossibleRule = "impossible-rule"
    case impossibleNetwork = "impossible-network"
    /// There are networks on which no rule matches.
    case noCatchAll = "no-catch-all"
    case pointlessNot = "pointless-not"
    case unusedNetwork = "unused-network"
    /// A rule that starts the tunnel for look-ups of names, which this version does not support, together with a kill switch.
    case killSwitchNotStarted = "kill-switch-not-started"
    /// A tunnel is disconnected on facts that any stranger's network could show.
    case weakEvidence = "weak-evidence"
    /// Two enterprise tunnels are wanted on one network, but only one runs.
    case exclusiveTunnels = "exclusive-tunnels"
    case overlappingRoutes = "overlapping-routes"
    case overlappingDomains = "overlapping-domains"
    case pointlessExclusion = "pointless-exclusion"
    case endpointInDomains = "endpoint-in-domains"
    case probeInTunnel = "probe-in-tunnel"
    case unroutedServer = "unrouted-server"
    /// A tunnel's link would have the name of another link.
    case takenLinkName = "taken-link-name"
    /// A WireGuard file without a peer.
    case noPeer = "no-peer"
    /// An endpoint that cannot be a gateway.
    case unusableEndpoint = "unusable-endpoint"
  }

  package enum Severity: String, Hashable, Sendable {
    case warning
  }

  package var kind: Kind
  package var severity = Severity.warning
  /// One line, lower case, without a full stop.
  package var message: String
  /// A suggested solution, on one line.
  package var help: String
  package var location: SourceLocation
  /// The other place that is involved.
  package var related: SourceLocation?

  package init(_ kind: Kind, _ message: String, help: String, at location: SourceLocation, related: SourceLocation? = nil) {
    self.kind = kind
    self.message = message
    self.help = help
    self.location = location
    self.related = related
  }
}
