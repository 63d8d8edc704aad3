extension Disclosure {
  /// Settings in lines: `[Section]`, `Key = value`, and OpenVPN's `option argument`, with files between `<name>` and `</name>`.
  mutating func settings(_ text: String) -> String {
    var (shown, block, isSecretBlock, inSecrets) = ([String](), String?.none, false, false)
    for line in textLines(text) {
      let words = line.drop(while: \.isWhitespace)
      if let name = block {
        if words.hasPrefix("</\(name)") {
          block = nil
          shown.append("</\(name)>")
        } else if !words.isEmpty {
          shown.append(leaveOut([String(words)], isSecretBlock ? .secret : .unknown))
        }
      } else if words.first == "<", let end = words.firstIndex(of: ">") {
        let name = String(words[words.index(after: words.startIndex)..<end])
        guard KeyNature.isShownOption(name) else {
          shown.append(leaveOut([], .unknown))
          continue
        }
        // The options between these are like all others.
        if name != "connection", name != "/connection" {
          block = name
          isSecretBlock = !SettingsFile.publicBlocks.contains(name)
        }
        shown.append("<\(name)>")
      } else if words.first == "[" {
        let name = words.prefix { $0 != "]" } + "]"
        inSecrets = name.lowercased().contains("secret")
        shown.append(SettingsFile.sections.contains(name.dropFirst().dropLast().lowercased()) ? String(name) : leaveOut([], .unknown))
      } else {
        shown.append(setting(words, inSecrets: inSecrets))
      }
    }
    return shown.joined(separator: "\n")
  }

  private mutating func setting(_ line: Substring, inSecrets: Bool) -> String {
    if line.isEmpty { return "" }
    if let first = line.first, "#;".contains(first) { return "\(first) " + leaveOut([], .unknown) }
    if let sign = line.firstIndex(of: "="), KeyNature.isShownKey(line[..<sign].trimmed) {
      let (key, value) = (line[..<sign].trimmed, line[line.index(after: sign)...].trimmed)
      let nature = inSecrets ? KeyNature.secret : KeyNature(ofSetting: key)
      // A public key is needed to see which peer is which; the redactor replaces it by a pseudonym.
      if nature == .harmless || KeyNature.isPublicKey(key) { return "\(key) = \(value)" }
      return "\(key) = \(value.isEmpty ? "" : leaveOut([value], nature))"
    }
    let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
    guard let option = words.first, KeyNature.isShownOption(option) else { return leaveOut([], .unknown) }
    if words.count == 1 { return option }
    if SettingsFile.harmlessOptions.contains(option) { return words.joined(separator: " ") }
    return "\(option) \(leaveOut([words.dropFirst().joined(separator: " ")], KeyNature(ofSetting: option)))"
  }
}

/// Options of OpenVPN whose arguments are harmless, and inline files that are public.
private enum SettingsFile {
  static let publicBlocks: Set<String> = ["ca", "cert", "extra-certs", "dh", "crl-verify", "peer-fingerprint"]
  static let sections: Set<String> = [
    "interface", "peer", "connection", "ethernet", "wifi", "wifi-security", "802-1x", "vpn", "vpn-secrets", "wireguard", "ipv4", "ipv6",
    "proxy",
  ]
  static let harmlessOptions: Set<String> = [
    "allow-compression", "auth", "cipher", "client", "comp-lzo", "compress", "connect-retry", "connect-retry-max", "connect-timeout",
    "data-ciphers", "data-ciphers-fallback", "dev", "dev-type", "dhcp-option", "explicit-exit-notify", "fast-io", "float", "fragment",
    "hand-window", "ifconfig", "ifconfig-ipv6", "inactive", "keepalive", "key-direction", "keysize", "link-mtu", "local", "lport", "mssfix",
    "ncp-ciphers", "ncp-disable", "nobind", "ns-cert-type", "persist-key", "persist-tun", "ping", "ping-exit", "ping-restart", "port",
    "proto", "pull", "pull-filter", "rcvbuf", "redirect-gateway", "remote", "remote-cert-tls", "remote-random", "reneg-sec",
    "resolv-retry", "route", "route-delay", "route-gateway", "route-ipv6", "route-metric", "route-nopull", "rport", "server-poll-timeout",
    "sndbuf", "socket-flags", "tls-cipher", "tls-ciphersuites", "tls-client", "tls-groups", "tls-timeout", "tls-version-max",
    "tls-version-min", "topology", "tran-window", "tun-mtu", "verb",
  ]
}
