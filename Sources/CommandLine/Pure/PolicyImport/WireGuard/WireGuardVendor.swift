import NetworkTypes
import PolicyFiles
import PolicySource
import RoamwardCore

/// Reads the WireGuard app's payload: `VendorConfig.WgQuickConfig` contains wg-quick text, including the key.
func readWireGuardVendor(_ vendor: Item?, _ inner: inout Fields?, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
  if var fields = inner {
    fields.drop(["RemoteAddress"], reason: "for display only; the endpoint is in the WireGuard text", &report)
    fields.drop(["AuthenticationMethod"], reason: "WireGuard authenticates by its keys alone", &report)
    inner = fields
  }
  guard let vendor, var fields = Fields(vendor, &report) else {
    tunnel.obstacles.append("the profile holds no WireGuard text (VendorConfig.WgQuickConfig)")
    return
  }
  if let text = fields.text("WgQuickConfig", &report) {
    report.changed(text.place, "written to \(tunnel.name).conf, for root alone")
    tunnel.useWireGuard(copyWireGuardQuick(Array(text.value.utf8), at: text.place, &report))
  } else {
    tunnel.obstacles.append("the profile holds no WireGuard text (VendorConfig.WgQuickConfig)")
  }
  fields.drop(["UID"], reason: "an account of Apple's systems", &report)
  fields.finish(&report)
}

/// Gives a tunnel without name servers those that its names require (`RequiredDNSServers`), for these names, if they are inside of it. A
/// look-up would start it otherwise, and then the network's servers, which do not know the name, would be asked again.
func takeRequiredServers(of tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
  guard tunnel.dns == nil, let configuration = tunnel.wireGuardConfiguration, configuration.dnsServers.isEmpty else { return }
  let included = TunnelPolicy(
    name: tunnel.name, provider: .wireGuard(WireGuardProviderConfiguration(path: "", configuration: configuration)), routes: tunnel.routes,
    includesAllNetworks: tunnel.switches.includesAllNetworks, location: SourceLocation(file: report.file, line: 1, column: 1)
  ).namedPrefixes
  let entries = tunnel.rules.flatMap(\.rule.connections).filter { entry in
    !entry.servers.isEmpty && entry.servers.allSatisfy { server in server.isInPrivateNetwork && included.contains { $0.contains(server) } }
  }
  guard let first = entries.first else { return }
  let servers = entries.flatMap(\.servers).uniqued()
  let domains = entries.flatMap(\.domains).uniqued()
  tunnel.dns = DNSPolicy(servers: servers, searchDomains: configuration.searchDomains, matchDomains: domains)
  report.record(
    "the WireGuard text names no DNS server, so \(servers.map(\.description).joined(separator: ", ")) answer for"
      + " \(domains.map(\.description).joined(separator: ", ")) inside the tunnel", weight: .warning, line: first.location.line)
}

/// Gives the tunnel's name servers the domains of `connect-always` alone, so that a look-up of them brings the tunnel up
/// (docs/decisions/0027). On Apple's systems they get every name while the tunnel is up. A tunnel that could not be armed
/// all the same stays as it is.
func separateNames(of tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
  guard case .wireGuard(let file) = tunnel.provider, tunnel.dns == nil, tunnel.routes == nil,
    let configuration = tunnel.wireGuardConfiguration
  else { return }
  let rules = tunnel.rules.map(\.rule).filter { $0.action == .evaluateConnection }
  let domains = rules.flatMap(\.connections).filter { $0.action == .connectAlways }.flatMap(\.domains).uniqued()
  guard !domains.isEmpty, !domains.contains(.any) else { return }
  let dns = DNSPolicy(servers: configuration.dnsServers, searchDomains: configuration.searchDomains, matchDomains: domains)
  let policy = TunnelPolicy(
    name: tunnel.name, provider: .wireGuard(WireGuardProviderConfiguration(path: file, configuration: configuration)),
    onDemand: OnDemand(rules: rules), dns: dns, location: rules[0].location)
  guard rules.contains(where: policy.arms) else { return }
  tunnel.dns = dns
  let names = domains.map(\.description).joined(separator: ", ")
  report.record(
    "the tunnel's name servers answer for \(names) alone (`match-domains`), so that a look-up of these names brings it up; Apple's systems ask"
      + " them for every name while it is up", weight: .warning, line: rules[0].location.line)
}

extension ImportedTunnel {
  /// The usable WireGuard text beside the policy; `nil`: there is none.
  fileprivate var wireGuardConfiguration: WireGuardQuickConfiguration? {
    guard case .wireGuard(let file) = provider, let bytes = files.first(where: { $0.name == file })?.bytes else { return nil }
    return readWireGuardQuick(bytes, file: file).configuration
  }

  /// Names that always connect are asked inside alone.
  mutating func dropServersOfAlways() {
    for rule in rules.indices {
      for entry in rules[rule].rule.connections.indices where rules[rule].rule.connections[entry].action == .connectAlways {
        rules[rule].rule.connections[entry].servers = []
      }
    }
  }
}

extension IPAddress {
  /// Whether it is private or shared (RFC 1918, RFC 4193, RFC 6598): reached inside of the tunnel alone.
  fileprivate var isInPrivateNetwork: Bool { IPPrefix.host(self).isArmable }
}
