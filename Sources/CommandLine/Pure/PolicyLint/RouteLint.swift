import NetworkTypes
import RoamwardCore

/// Finds excluded prefixes outside all included prefixes.
func pointlessExclusions(in tunnel: TunnelPolicy) -> [LintFinding] {
  guard let includes = tunnel.knownIncludes, let excludes = tunnel.routes?.exclude else { return [] }
  return excludes.filter { !includes.cover.overlaps($0) }.map {
    LintFinding(
      .pointlessExclusion, "excluding \($0) from `\(tunnel.name)` changes nothing: no included prefix holds it",
      help: "remove it, or include the prefix that it is to be cut out of", at: tunnel.location)
  }
}

/// Finds name servers of a tunnel that are not routed through it.
func unroutedServers(of tunnel: TunnelPolicy) -> [LintFinding] {
  guard let includes = tunnel.knownIncludes else { return [] }
  return tunnel.dnsInForce.servers.filter { !$0.isLoopback && !tunnel.takes($0, within: includes) }.map {
    LintFinding(
      .unroutedServer, "the name server \($0) of `\(tunnel.name)` is not reached through it: no included prefix holds it",
      help: "add \(IPPrefix.host($0)) to `routes: include:`, or correct the server", at: tunnel.location)
  }
}

/// Finds prefixes of two personal tunnels, so that their order decides. Enterprise tunnels are never up together. Between a tunnel for a
/// part of the addresses and one for everything the part wins, as intended (``TunnelPolicy/slots``). A prefix that one of the two excludes
/// is no conflict, nor are tunnels that the rules never have up on one network. One finding for two tunnels.
func overlappingRoutes(of tunnels: [TunnelPolicy], _ together: inout TunnelsTogether) -> [LintFinding] {
  var findings: [LintFinding] = []
  let claims = tunnels.enumerated().filter { $0.element.precedence == .personal && $0.element.isApplied }.flatMap { i, tunnel in
    (tunnel.knownIncludes ?? []).ascending.map { (prefix: $0, tunnel: i) }
  }
  let takesPart = tunnels.map(\.takesPart)
  var told = Set<[Int]>()
  var open: [(prefix: IPPrefix, tunnel: Int)] = []
  for claim in claims.sorted(by: { ($0.prefix, $0.tunnel) < ($1.prefix, $1.tunnel) }) {
    // A prefix that does not contain this one contains none of the following ones.
    while let top = open.last, !top.prefix.contains(claim.prefix) { open.removeLast() }
    let rival = open.last { other in
      other.tunnel != claim.tunnel && takesPart[other.tunnel] == takesPart[claim.tunnel]
        && ![other.tunnel, claim.tunnel].contains { tunnels[$0].routes?.exclude.hold(claim.prefix) ?? false }
        && together.mayBeUp(other.tunnel, claim.tunnel)
    }
    open.append(claim)
    guard let rival else { continue }
    let pair = [min(rival.tunnel, claim.tunnel), max(rival.tunnel, claim.tunnel)]
    guard told.insert(pair).inserted else { continue }
    let (first, second) = (tunnels[pair[0]], tunnels[pair[1]])
    let what =
      rival.prefix == claim.prefix
      ? "take \(claim.prefix)" : "take \(claim.prefix), `\(tunnels[rival.tunnel].name)` as a part of \(rival.prefix)"
    findings.append(
      LintFinding(
        .overlappingRoutes, "`\(second.name)` and `\(first.name)` (\(first.location.short)) both \(what)",
        help: "exclude it from one of them, or make one of them `class: enterprise`", at: second.location, related: first.location))
  }
  return findings
}
