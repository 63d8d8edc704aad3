import NetworkTypes
import RoamwardCore

/// Reads `com.apple.vpn.managed`. Most keys are in the dictionary with the name of the type; rules are accepted beside it too.
func readVPNPayload(
  _ fields: inout Fields, tunnel start: ImportedTunnel, options: ImportOptions, _ report: inout ImportReport
) -> ImportedTunnel {
  var tunnel = start
  let type = fields.text("VPNType", &report)
  let subtype = fields.text("VPNSubType", &report)
  var inner = type.flatMap { fields.take($0.value == "TransparentProxy" ? "TransparentProxy" : $0.value) }.flatMap { Fields($0, &report) }
  if type != nil, inner == nil {
    report.record("the dictionary named after the VPNType is missing", weight: .warning, line: fields.place.line)
  }
  // Rules first: nothing after them can change them.
  var payload = OnDemandFields(inner: inner, outer: fields)
  payload.read(into: &tunnel, options: options, &report)
  inner = payload.inner
  fields = payload.outer
  recordPlaceholders(fields, inner, &tunnel, &report)
  let vendor = fields.take("VendorConfig") ?? inner?.take("VendorConfig")
  switch (type?.value, subtype?.value) {
  case ("VPN", "com.wireguard.ios"?), ("VPN", "com.wireguard.macos"?):
    readWireGuardVendor(vendor, &inner, &tunnel, &report)
  case ("VPN", "net.openvpn.connect.app"?), ("VPN", "net.openvpn.OpenVPN-Connect.vpnplugin"?):
    readOpenVPNVendor(vendor, &inner, &tunnel, options: options, &report)
  case ("IKEv2", _):
    if let manifest = options.strongSwan {
      readIKEv2(&inner, &tunnel, manifest, &report)
    } else {
      readIPsec(&inner, &tunnel, why: "the provider of IKEv2 is not installed (package roamward-strongswan)", &report)
    }
  case ("IPSec", _):
    readIPsec(&inner, &tunnel, why: "there is no provider of Cisco IPsec (IKEv1)", &report)
  default:
    tunnel.obstacles.append("this version has no provider for its kind of VPN; name a command that builds it")
    if let vendor { keepVendorSecret(vendor, &tunnel, &report) }
    if var fields = inner {
      keepAsComments(["RemoteAddress", "AuthenticationMethod", "AuthName"], of: &fields, for: "the command", &tunnel, &report)
      inner = fields
    }
  }
  if let type { report.changed(type.place, "the provider of the policy") }
  if let subtype { report.changed(subtype.place, "the provider of the policy") }
  readTunnelSettings(&fields, &inner, &tunnel, &report)
  takeRequiredServers(of: &tunnel, &report)
  separateNames(of: &tunnel, &report)
  keepSecrets(&inner, &tunnel, &report)
  inner?.finish(&report)
  return tunnel
}

/// Reads a declaration of OS 27: the containers have other names, the rules have the same keys.
func readVPNDeclaration(
  _ fields: inout Fields, tunnel start: ImportedTunnel, options: ImportOptions, _ report: inout ImportReport
) -> ImportedTunnel {
  var tunnel = start
  if let item = fields.take("OnDemand"), var demand = Fields(item, &report) {
    let isEnabled = demand.flag("Enabled", &report)
    if let isEnabled { report.taken(isEnabled.place, "on-demand enabled: \(isEnabled.value)") }
    tunnel.onDemand = isEnabled?.value ?? false
    if let rules = demand.take("Rules") {
      let read = readOnDemandRules(rules, dialect: .vpn, legacy: LegacyDomains(), reading: options.reading, &report)
      tunnel.rules = read.rules
      tunnel.ruleObstacle = read.problem
    }
    demand.drop(
      ["DisableUserOverride"], reason: "a person can always outrank the rules here, visibly (roamward up, down)", weight: .warning, &report
    )
    demand.finish(&report)
  }
  if let item = fields.take("Idle"), var idle = Fields(item, &report) {
    readIdle(&idle, switchKey: "Disconnect", timerKey: "Timer", &tunnel, &report)
    idle.finish(&report)
  }
  var none: Fields?
  readTunnelSettings(&fields, &none, &tunnel, &report)
  tunnel.obstacles.append("a declaration says when the tunnel is wanted; name the command that builds it")
  fields.drop(fields.keys, reason: "how the tunnel is built has to be said by hand", weight: .warning, &report)
  return tunnel
}

/// Vendor settings of an unknown format may contain keys: they are kept, readable by root only.
private func keepVendorSecret(_ vendor: Item, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
  let lines = vendor.leaves.compactMap { leaf in leaf.text.map { "\(leaf.place.text) = \($0)\n" } }
  let file = tunnel.addSecret("vendor", Array(lines.joined().utf8))
  for leaf in vendor.leaves { report.changed(leaf.place, "kept in \(file), for root alone: it may hold secrets") }
}
