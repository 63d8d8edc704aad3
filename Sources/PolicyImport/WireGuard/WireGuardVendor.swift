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

/// Gives the tunnel's name servers the domains of `connect-always` alone, so that a look-up of them brings the tunnel up
/// (docs/decisions/0027-armed-tunnels.md). On Apple's systems they get every name while the tunnel is up. A tunnel that could not be armed
/// all the same stays as it is.
func separateNames(of tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
  guard case .wireGuard(let file) = tunnel.provider, tunnel.dns == nil, tunnel.routes == nil,
    let bytes = tunnel.files.first(where: { $0.name == file })?.bytes,
    let configuration = readWireGuardQuick(bytes, file: file).configuration
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
  report.note(
    "the tunnel's name servers answer for \(names) alone (`match-domains`), so that a look-up of these names brings it up; Apple's systems ask"
      + " them for every name while it is up", weight: .warning, line: rules[0].location.line)
}
