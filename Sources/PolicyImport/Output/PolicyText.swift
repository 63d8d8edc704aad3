import NetworkTypes
import RoamwardCore

extension ImportedTunnel {
  /// The policy file, with the words that it came from as comments.
  func policyText(source: String) -> String {
    var lines = ["# Imported from \(shown(source)) by `roamward import`."]
    lines += remarks.map { "# \(shown($0))" }
    lines += ["version: 1", "tunnels:", "  \(name):"]
    if let about, !about.isEmpty { lines.append("    description: \(scalar(shown(about)))") }
    for obstacle in obstacles { lines.append("    # Off: \(shown(obstacle))") }
    if !obstacles.isEmpty { lines.append("    enabled: false") }
    lines += providerLines.map { "    " + $0 }
    lines += onDemandLines.map { "    " + $0 }
    lines += settingLines.map { "    " + $0 }
    return lines.map { $0 + "\n" }.joined()
  }

  private var providerLines: [String] {
    switch provider {
    case .wireGuard(let file): ["provider:", "  wireguard: { config: \(scalar(file)) }"]
    case .command(let up, let down, let status):
      ["provider:", "  command:", "    up: \(list(up))", "    down: \(list(down))"] + (status.isEmpty ? [] : ["    status: \(list(status))"])
    case .missing:
      ["provider:", "  # Put here what builds the tunnel.", "  command: { up: [/bin/false], down: [/bin/true] }"]
    }
  }

  private var onDemandLines: [String] {
    guard onDemand != nil || !rules.isEmpty || idle != nil else { return [] }
    var lines = ["on-demand:"]
    if let ruleObstacle {
      lines += ["  # Off: \(shown(ruleObstacle))", "  enabled: false"]
    } else if let onDemand {
      lines.append("  enabled: \(onDemand)")
    }
    if !rules.isEmpty { lines.append("  rules:") }
    for rule in rules {
      if let original = rule.original { lines.append("    # \(shown(original))") }
      lines += ruleLines(rule.rule).map { "    " + $0 }
    }
    if let idle { lines.append("  timing: { idle: \(idle)s }") }
    return lines
  }

  private var settingLines: [String] {
    var lines: [String] = []
    if let routes {
      lines.append("routes:")
      if !routes.include.isEmpty { lines.append("  include: \(list(routes.include.map(\.description)))") }
      if !routes.exclude.isEmpty { lines.append("  exclude: \(list(routes.exclude.map(\.description)))") }
      if routes.lan != .allow { lines.append("  lan: \(routes.lan.rawValue)") }
      if routes.onOverlap != .preferLocal { lines.append("  on-overlap: \(routes.onOverlap.rawValue)") }
      if lines.last == "routes:" { lines.removeLast() }
    }
    if let dns {
      lines.append("dns:")
      if !dns.servers.isEmpty { lines.append("  servers: \(list(dns.servers.map(\.description)))") }
      if !dns.searchDomains.isEmpty { lines.append("  search-domains: \(list(dns.searchDomains.map(\.text)))") }
      if !dns.matchDomains.isEmpty { lines.append("  match-domains: \(list(dns.matchDomains.map { $0 == .any ? "." : $0.description }))") }
      if lines.last == "dns:" { lines.removeLast() }
    }
    if let proxy {
      lines.append("proxy:")
      if let pac = proxy.pac { lines.append("  pac: \(scalar(pac))") }
      if let http = proxy.http { lines.append("  http: \(scalar(http))") }
      if let https = proxy.https { lines.append("  https: \(scalar(https))") }
      if !proxy.exclude.isEmpty { lines.append("  exclude: \(list(proxy.exclude))") }
      if lines.last == "proxy:" { lines.removeLast() }
    }
    if let mtu { lines.append("mtu: \(mtu)") }
    if includesAllNetworks { lines.append("include-all-networks: true") }
    return lines
  }
}

private func ruleLines(_ rule: Rule) -> [String] {
  var lines: [String] = []
  if let name = rule.name { lines.append("name: \(scalar(name))") }
  if case .all(let criteria) = rule.match, !criteria.isEmpty {
    lines.append("match:")
    lines += criteria.compactMap(criterionText).map { "  " + $0 }
  }
  lines.append("action: \(rule.action.rawValue)")
  if !rule.connections.isEmpty {
    lines.append("connections:")
    for connection in rule.connections {
      lines.append("  - domains: \(list(connection.domains.map(\.description)))")
      lines.append("    action: \(connection.action.rawValue)")
      if !connection.servers.isEmpty { lines.append("    dns-servers: \(list(connection.servers.map(\.description)))") }
      if let probe = connection.probe { lines.append("    probe: \(scalar(probe.url))") }
    }
  }
  return lines.enumerated().map { ($0 == 0 ? "- " : "  ") + $1 }
}

/// The criteria that an import makes; no others come here.
private func criterionText(_ condition: Condition) -> String? {
  switch condition {
  case .interface(let types): "interface: \(oneOrList(types.map(\.rawValue)))"
  case .ssid(let ssids): "ssid: \(oneOrList(ssids.map(\.description)))"
  case .dnsDomain(let domains): "dns-domain: \(oneOrList(domains.map(\.description)))"
  case .dnsServer(let servers, .each): "dns-server: \(oneOrList(servers.map(\.description)))"
  case .dnsServer(let servers, .any): "dns-server: { any: \(oneOrList(servers.map(\.description))) }"
  case .probe(let probe): "probe: \(scalar(probe.url))"
  default: nil
  }
}

private func oneOrList(_ texts: [String]) -> String { texts.count == 1 ? scalar(texts[0]) : list(texts) }

private func list(_ texts: [String]) -> String { "[\(texts.map(scalar).joined(separator: ", "))]" }

/// A scalar that is read back as exactly this text: plain where no reader could see anything else in it.
func scalar(_ text: String) -> String {
  func isPlain(_ c: UInt8) -> Bool { (48...57).contains(c) || (97...122).contains(c | 0x20) || "._/-".utf8.contains(c) }
  let isWord = text.utf8.allSatisfy(isPlain) && text.utf8.first.map { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ".") } == true
  if isWord, !["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(text.lowercased()) { return text }
  var result = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": result += "\\\""
    case "\\": result += "\\\\"
    case "\n": result += "\\n"
    case "\t": result += "\\t"
    case _ where isUnprintable(scalar):
      let digits = String(scalar.value, radix: 16)
      result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + "\""
}
