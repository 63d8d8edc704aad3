package import NetworkTypes

/// The second file of nebula's configuration, which overrides the user's: the device, the log, the credentials, and what must be off.
///
/// Nebula merges its files in the order of their names. An empty value overrides nothing, and for it `false` is empty: so `"no"`.
package struct NebulaSettings: Equatable, Sendable {
  /// A network behind another host of the overlay.
  package struct Route: Hashable, Sendable {
    package let prefix: IPPrefix
    package let host: IPAddress

    package init(_ prefix: IPPrefix, by host: IPAddress) {
      self.prefix = prefix
      self.host = host
    }
  }

  package var device: String
  package var mtu: Int
  package var routes: [Route] = []
  /// PEM texts by their key: `ca`, `cert`, `key`.
  package var credentials: [String: String] = [:]

  package init(device: String, mtu: Int) {
    self.device = device
    self.mtu = mtu
  }

  package var text: String {
    var lines = ["tun:", "  dev: \(device)", "  mtu: \(mtu)", "  disabled: \"no\""]
    if !routes.isEmpty {
      lines.append("  unsafe_routes:")
      for route in routes { lines += ["    - route: \(route.prefix)", "      via: \(route.host)"] }
    }
    lines += ["logging:", "  level: info", "  format: json", "sshd:", "  enabled: \"no\"", "stats:", "  type: none"]
    // Seconds until a host that sends nothing is asked, and from then until its tunnel is dead: 25 s at most, with the next packet.
    lines += ["timers:", "  connection_alive_interval: 4", "  pending_deletion_interval: 6"]
    if !credentials.isEmpty { lines.append("pki:") }
    for (key, text) in credentials.sorted(by: { $0.key < $1.key }) {
      lines.append("  \(key): |")
      lines += text.split(separator: "\n").map { "    \($0.trimmingBlanks)" }
    }
    return lines.map { "\($0)\n" }.joined()
  }
}
