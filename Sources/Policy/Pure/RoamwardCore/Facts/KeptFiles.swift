import NetworkTypes

// Files of other programs. Unreadable parts are skipped: the formats belong to these programs, and change with versions.

extension NetworkdLink {
  /// Parses `/run/systemd/netif/links/INDEX` and, if present, `/run/systemd/netif/leases/INDEX` of systemd-networkd.
  package init(link text: String, lease: String?) {
    let values = assignments(in: text)
    isManaged = values["ADMIN_STATE"].map { $0 != "unmanaged" } ?? false
    isConfiguring = ["pending", "initialized", "configuring"].contains(values["ADMIN_STATE"] ?? "")
    dns = LinkDNS(
      servers: addresses(in: values["DNS"]), domains: domains(in: values["DOMAINS"]), routingDomains: domains(in: values["ROUTE_DOMAINS"]))
    self.lease = lease.map(Lease.init(networkd:))
  }
}

extension Lease {
  /// Parses a lease of systemd-networkd's DHCPv4 client.
  package init(networkd text: String) {
    let values = assignments(in: text)
    self.init(
      address: values["ADDRESS"].flatMap(IPAddress.init),
      dns: LinkDNS(
        servers: addresses(in: values["DNS"]),
        domains: (domains(in: values["DOMAINNAME"]) + domains(in: values["DOMAIN_SEARCH_LIST"])).uniqued()),
      isMetered: values["VENDOR_SPECIFIC"].map { $0.lowercased().contains(androidMetered) } ?? false)
  }

  /// Parses a lease file of dhclient (dhclient.leases(5)), oldest first. Leases without a link name are skipped.
  package static func leases(dhclient text: String) -> [Lease] {
    var leases: [Lease] = []
    var open: Lease?
    for line in text.split(whereSeparator: \.isNewline) {
      var words = statementWords(line)
      if words.first == "lease" { open = Lease() }
      if words.first == "}" {
        if let lease = open, lease.link != nil { leases.append(lease) }
        open = nil
      }
      if words.first == "option" { words.removeFirst() }
      guard let key = words.first else { continue }
      let values = words.dropFirst()
      switch key {
      case "interface": open?.link = values.first
      case "fixed-address": open?.address = values.first.flatMap(IPAddress.init)
      case "domain-name-servers": open?.dns.servers = values.compactMap(IPAddress.init)
      // Some servers put a whole search list there.
      case "domain-name", "domain-search":
        open?.dns.domains += values.flatMap { $0.split(separator: " ") }.compactMap { DomainName(String($0)) }
      case "vendor-encapsulated-options": open?.isMetered = isAndroidMetered(values.first ?? "")
      case "v4-captive-portal", "captive-portal", "unknown-114": open?.portalAPI = portalURL(values.first ?? "")
      default: continue
      }
    }
    return leases
  }
}

/// The portal API URL: as text, or, if dhclient has no name for the option, as bytes separated by colons. Any DHCP server can write this.
/// Only an https URL of printable characters counts (RFC 8908 section 4.1), so that no other server can answer for the portal.
private func portalURL(_ text: String) -> String? {
  let bytes = text.split(separator: ":").compactMap { UInt8($0, radix: 16) }
  let isBytes = !bytes.isEmpty && bytes.count == text.split(separator: ":", omittingEmptySubsequences: false).count
  let url = isBytes ? String(decoding: bytes, as: UTF8.self) : text
  let isPrintable = url.utf8.allSatisfy { (0x21..<0x7f).contains($0) }
  return url.hasPrefix("https://") && isPrintable && (9..<256).contains(url.utf8.count) ? url : nil
}

/// `ANDROID_METERED` in hexadecimal.
private let androidMetered = "414e44524f49445f4d455445524544"

/// Whether the option is `ANDROID_METERED`: dhclient writes it as text, or as bytes separated by colons.
private func isAndroidMetered(_ text: String) -> Bool {
  if text.contains("ANDROID_METERED") { return true }
  let digits = text.split(separator: ":").map { $0.count == 1 ? "0\($0)" : String($0) }.joined()
  return digits.lowercased().contains(androidMetered)
}

/// Parses `NAME=value` lines; `#` begins a comment.
private func assignments(in text: String) -> [String: String] {
  var values: [String: String] = [:]
  for line in text.split(whereSeparator: \.isNewline) where line.first != "#" {
    guard let end = line.firstIndex(of: "=") else { continue }
    values[String(line[..<end])] = String(line[line.index(after: end)...])
  }
  return values
}

/// Parses servers separated by spaces, each optionally with a port, a link and a name: `[2001:db8::1]:53%eth0#dns.example`
/// (resolved.conf(5)).
private func addresses(in text: String?) -> [IPAddress] {
  (text ?? "").split(separator: " ").compactMap { word in
    var word = word.prefix { $0 != "#" && $0 != "%" }
    if word.first == "[" { word = word.dropFirst().prefix { $0 != "]" } }
    if let address = IPAddress(String(word)) { return address }
    return word.lastIndex(of: ":").flatMap { IPAddress(String(word[..<$0])) }
  }
}

/// Parses names separated by spaces; a routing-only name (with `~`) and the root are left out.
private func domains(in text: String?) -> [DomainName] {
  (text ?? "").split(separator: " ").compactMap { DomainName(String($0.first == "~" ? $0.dropFirst() : $0)) }
}

/// The words of `option domain-search "a.example", "b.example";`, without the punctuation.
private func statementWords(_ line: Substring) -> [String] {
  var words: [String] = []
  var word = ""
  var isQuoted = false
  for character in line {
    switch character {
    case "\"": isQuoted.toggle()
    case " ", "\t", ",", ";":
      if isQuoted {
        word.append(character)
      } else {
        if !word.isEmpty { words.append(word) }
        word = ""
      }
    default: word.append(character)
    }
  }
  if !word.isEmpty { words.append(word) }
  return words
}
