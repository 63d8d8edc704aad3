/// True if a key's value must not be shown.
func isSecretKey(_ key: String) -> Bool {
  let name = key.lowercased().filter { $0 != "-" && $0 != "_" }
  let words = ["password", "passphrase", "sharedsecret", "secret", "privatekey", "presharedkey", "psk", "token", "pin", "credential"]
  return words.contains { $0 == "pin" ? name == "pin" || name.hasSuffix("pin") : name.contains($0) }
}

/// Moves secrets among the remaining keys into files that only root can read.
func keepSecrets(_ fields: inout Fields?, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
  guard var rest = fields else { return }
  for key in rest.keys where isSecretKey(key) {
    guard let item = rest.take(key) else { continue }
    let bytes: [UInt8]? =
      switch item.property.content {
      case .string(let text): Array(text.utf8)
      case .data(let data): data
      default: nil
      }
    if let bytes {
      let file = tunnel.addSecret(tunnelName(from: key) ?? "secret", bytes)
      report.changed(item.place, "a secret: written to \(file), for root alone")
    } else {
      report.dropped(item.place, "neither a text nor data")
    }
  }
  fields = rest
}
