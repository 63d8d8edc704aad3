package import NetworkTypes
package import RoamwardCore

/// Finds likely mistakes in policies, in order of place.
///
/// Rules are checked by exact reasoning over their matches. A rule is called dead if and only if it decides on no network, whatever is
/// known or unknown of it. If that would take too long, nothing is reported. Files in `unreliable` could not be read completely: their
/// tunnels are not checked, and no conclusions follow from their networks. `ownAddresses` are those of the machine that the policies are
/// for.
package func lint(_ policies: PolicySet, unreliable: Set<String> = [], ownAddresses: Set<IPAddress> = []) -> [LintFinding] {
  let networks = NetworkTable(policies.networks, unreliable: unreliable)
  let tunnels = policies.tunnels.filter { $0.isEnabled && !unreliable.contains($0.location.file) }
  let groups = GroupsOfTunnels(policies)
  var findings: [LintFinding] = []
  for tunnel in tunnels {
    findings += pointlessExclusions(in: tunnel) + unroutedServers(of: tunnel) + namesOutside(of: tunnel)
    findings += pointlessRebinding(in: tunnel) + allNames(of: tunnel) + routedNames(of: tunnel)
    findings += links(of: tunnel, ownAddresses: ownAddresses) + unappliedSettings(of: tunnel)
    guard tunnel.onDemand.isEnabled else { continue }
    if !groups.hasRulesOfAnother(tunnel, among: tunnels) { findings += lintRules(of: tunnel, networks: networks) }
    findings += probesInside(tunnel, networks: networks)
  }
  for network in policies.networks where !unreliable.contains(network.location.file) {
    findings += lintNetwork(network, networks: networks)
  }
  if unreliable.isEmpty { findings += unusedNetworks(in: policies) }
  findings += sharedLinks(of: tunnels) + exclusiveTunnels(among: tunnels, networks: networks, groups: groups)
  var together = TunnelsTogether(tunnels, networks, groups)
  findings += unlikeMembers(of: policies, tunnels)
  findings += overlappingRoutes(of: tunnels, &together) + overlappingDomains(of: tunnels, &together) + endpointsInside(tunnels, &together)
  findings += overlappingNames(of: tunnels, &together)
  return findings.sorted { a, b in
    (a.location.file, a.location.line, a.location.column, a.kind.rawValue, a.message)
      < (b.location.file, b.location.line, b.location.column, b.kind.rawValue, b.message)
  }
}
