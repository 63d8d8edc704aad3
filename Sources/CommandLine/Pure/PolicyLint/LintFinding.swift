package import RoamwardCore

/// A likely mistake in a policy.
package struct LintFinding: Equatable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// Earlier rules match wherever this one does.
    case shadowedRule = "shadowed-rule"
    /// A rule whose match contradicts itself.
    case impossibleRule = "impossible-rule"
    /// A named network whose condition contradicts itself.
    case impossibleNetwork = "impossible-network"
    /// There are networks on which no rule matches.
    case noCatchAll = "no-catch-all"
    /// A `not` that excludes nothing.
    case pointlessNot = "pointless-not"
    /// A named network that no rule uses.
    case unusedNetwork = "unused-network"
    /// Names start a tunnel that has no name servers, so servers outside resolve them.
    case namesOutside = "names-outside"
    /// Names that are refused outside, and that servers outside are asked for first.
    case leakingRefusal = "leaking-refusal"
    /// A rule with `evaluate-connection` that does not arm its tunnel, together with a kill switch.
    case killSwitchNotStarted = "kill-switch-not-started"
    /// A tunnel is disconnected on facts that any stranger's network could show.
    case weakEvidence = "weak-evidence"
    /// Two enterprise tunnels are wanted on one network, but only one runs.
    case exclusiveTunnels = "exclusive-tunnels"
    /// Two personal tunnels include the same prefix.
    case overlappingRoutes = "overlapping-routes"
    /// Two tunnels claim the same domain.
    case overlappingDomains = "overlapping-domains"
    /// An excluded prefix outside all included prefixes.
    case pointlessExclusion = "pointless-exclusion"
    /// Questions are captured only while the tunnel is up: before and after, its names are asked outside.
    case capturedWhileUp = "captured-while-up"
    /// A tunnel for a part of the addresses, whose file has all names asked of its servers.
    case allNames = "all-names"
    /// A domain of `rebind-allowed` whose names the tunnel's own servers resolve.
    case pointlessRebind = "pointless-rebind-allowed"
    /// A domain of `include-domains` or `exclude-domains` that changes nothing.
    case pointlessDomain = "pointless-domain"
    /// Two tunnels include the names of one domain.
    case overlappingNames = "overlapping-names"
    /// A tunnel includes names, and its peers take some addresses only.
    case namesBeyondPeers = "names-beyond-peers"
    /// Members of a group that do not take the same prefixes.
    case unlikeMembers = "unlike-members"
    /// The name of an endpoint is looked up through the tunnel that needs it.
    case endpointInDomains = "endpoint-in-domains"
    /// The host of a probe is behind a tunnel.
    case probeInTunnel = "probe-in-tunnel"
    /// A tunnel's name server is not behind the tunnel.
    case unroutedServer = "unrouted-server"
    /// A tunnel's link would have the name of another link.
    case takenLinkName = "taken-link-name"
    /// Two tunnels have the same link, unit or profile.
    case sharedLink = "shared-link"
    /// Settings of a tunnel whose provider names no link.
    case unappliedSettings = "unapplied-settings"
    /// A full or blocking tunnel that another service starts, whose packets have no mark.
    case unmarkedService = "unmarked-service"
    /// A WireGuard file without a peer.
    case noPeer = "no-peer"
    /// An endpoint on this machine, a relay, whose own packets the tunnel takes or blocks.
    case relayedEndpoint = "relayed-endpoint"
    /// An endpoint that cannot be a gateway.
    case unusableEndpoint = "unusable-endpoint"
  }

  package enum Severity: String, Equatable, Sendable {
    /// Likely a mistake.
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
