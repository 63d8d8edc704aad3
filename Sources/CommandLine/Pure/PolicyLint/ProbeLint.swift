import NetworkTypes
import RoamwardCore

/// Finds probes in a tunnel's rules that the tunnel itself would answer when it is up: the decision would depend on its own tunnel.
func probesInside(_ tunnel: TunnelPolicy, networks: NetworkTable) -> [LintFinding] {
  var findings: [LintFinding] = []
  var told = Set<String>()
  for (i, rule) in tunnel.onDemand.rules.enumerated() {
    var probes: [Probe] = []
    for condition in networks.closure(of: [rule.match]) {
      condition.forEachKey { if let probe = $0.wanted(of: FactTable.probe) { probes.append(probe) } }
    }
    for probe in probes where !told.contains(probe.url) {
      guard let host = URLHost(probe.url), let reason = reason(host, inside: tunnel) else { continue }
      told.insert(probe.url)
      findings.append(
        LintFinding(
          .probeInTunnel, "rule \(i + 1) of `\(tunnel.name)` probes \(probe.url), which its own tunnel would answer: \(reason)",
          help: "probe a name that only the place itself serves, outside of the tunnel's domains and routes", at: rule.location))
    }
  }
  return findings
}

private func reason(_ host: URLHost, inside tunnel: TunnelPolicy) -> String? {
  switch host {
  case .name(let name):
    tunnel.matchDomainNames.first(where: name.isWithin).map { "the name lies in its match-domains, within \($0)" }
  case .address(let address):
    tunnel.knownIncludes.flatMap { includes in
      guard tunnel.takes(address, within: includes) else { return nil }
      return includes.all.first { $0.contains(address) }.map { "the address lies in its routes, within \($0)" }
    }
  }
}
