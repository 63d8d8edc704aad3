/// Reads IKEv2 and Cisco IPsec without a provider. The policy calls strongSwan, whose own configuration has to be written by hand. The
/// profile's values for it are kept as comments, and the tunnel is disabled until then.
func readIPsec(_ inner: inout Fields?, _ tunnel: inout ImportedTunnel, why: String, _ report: inout ImportReport) {
  tunnel.provider = .command(
    up: ["/usr/sbin/swanctl", "--initiate", "--child", tunnel.name, "--timeout", "25"],
    down: ["/usr/sbin/swanctl", "--terminate", "--ike", tunnel.name], status: [])
  tunnel.obstacles.append(
    "\(why); the commands expect strongSwan to have a connection and a child named \(tunnel.name) (/etc/swanctl/conf.d)"
  )
  guard var fields = inner else { return }
  keepAsComments(plainKeys, of: &fields, for: "strongSwan's configuration", &tunnel, &report)
  fields.drop(
    ["PayloadCertificateUUID"], reason: "names a payload of the profile; the identity is in a file beside the policy", &report)
  inner = fields
}

/// Keeps what a person needs who completes the policy.
func keepAsComments(
  _ keys: [String], of fields: inout Fields, for use: String, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport
) {
  for key in keys {
    guard let item = fields.take(key) else { continue }
    for leaf in item.leaves {
      guard !isSecretKey(leaf.place.text.split(separator: ".").last.map(String.init) ?? "") else {
        report.dropped(leaf.place, "a secret where none belongs")
        continue
      }
      tunnel.remarks.append("\(leaf.place.text.split(separator: ".").suffix(2).joined(separator: ".")): \(compactText(leaf.property))")
      report.changed(leaf.place, "kept as a comment, for \(use)")
    }
  }
}

/// Keys of the two types without secrets; their order is that of the comments.
private let plainKeys = [
  "RemoteAddress", "LocalIdentifier", "LocalIdentifierType", "RemoteIdentifier", "AuthenticationMethod", "ExtendedAuthEnabled", "AuthName",
  "XAuthEnabled", "XAuthName", "ServerCertificateIssuerCommonName", "ServerCertificateCommonName", "CertificateType",
  "DeadPeerDetectionRate", "DisableMOBIKE", "DisableRedirect", "EnablePFS", "EnableCertificateRevocationCheck", "EnableFallback",
  "NATKeepAliveInterval", "NATKeepAliveOffloadEnable", "UseConfigurationAttributeInternalIPSubnet", "TLSMinimumVersion",
  "TLSMaximumVersion",
  "IKESecurityAssociationParameters", "ChildSecurityAssociationParameters", "PostQuantumKeyExchangeMethods", "PromptForVPNPIN",
]
