import NetworkTypes
package import RoamwardCore

/// A part of a rule that Apple's format cannot express, and its place.
package struct ExportProblem: Equatable, Sendable {
  /// The number of the rule, from 1.
  package var rule: Int?
  package var name: String?
  package var location: SourceLocation
  package var message: String
  /// True if it changes when the tunnel is up. Only such problems prevent an export.
  package var isLoss: Bool

  package var text: String {
    let subject = rule.map { "rule \($0)\(name.map { " (\(shown($0)))" } ?? ""): " } ?? ""
    return "\(shown(location.description)): \(isLoss ? "error" : "warning"): \(subject)\(message)"
  }
}

/// The rules in Apple's format, and the parts that it cannot express. The export is complete only if no problem is a loss.
package func exportRules(of tunnel: TunnelPolicy, networks: [NamedNetwork]) -> (rules: Property, problems: [ExportProblem]) {
  var exporter = RuleExporter(networks: Dictionary(networks.map { ($0.name, $0.condition) }) { first, _ in first })
  for (index, rule) in tunnel.onDemand.rules.enumerated() { exporter.add(rule, number: index + 1) }
  return (Property(.array(exporter.rules)), exporter.problems)
}

private struct RuleExporter {
  let networks: [String: Condition]
  var rules: [Property] = []
  var problems: [ExportProblem] = []

  init(networks: [String: Condition]) { self.networks = networks }

  /// Adds a rule. It is left out completely if a part cannot be expressed: without that part it would match elsewhere too.
  mutating func add(_ rule: Rule, number: Int) {
    var losses: [String] = []
    if rule.onUnknown != nil { losses.append("`on-unknown` has no counterpart") }
    if rule.name != nil { problems.append(problem(rule, number, "its name is left out: Apple's rules have none", isLoss: false)) }
    let alternatives = alternatives(of: rule.match, depth: 0, &losses)
    if alternatives.count > 1 {
      problems.append(problem(rule, number, "becomes \(alternatives.count) rules, one for each alternative", isLoss: false))
    }
    var exported: [Property] = []
    for criteria in alternatives {
      var entries = [Property.Entry("Action", .text(appleWord(rule.action)))]
      for criterion in criteria { add(criterion, to: &entries, &losses) }
      if rule.action == .evaluateConnection {
        if rule.connections.isEmpty { losses.append("that the first packet of the policy's programs starts it") }
        entries.append(Property.Entry("ActionParameters", Property(.array(rule.connections.compactMap { connection($0, &losses) }))))
      } else if !rule.connections.isEmpty {
        losses.append("`connections` without evaluate-connection")
      }
      exported.append(Property(.dictionary(entries)))
    }
    var told: Set<String> = []
    for loss in losses where told.insert(loss).inserted { problems.append(problem(rule, number, loss, isLoss: true)) }
    if losses.isEmpty { rules += exported }
  }

  private func problem(_ rule: Rule, _ number: Int, _ message: String, isLoss: Bool) -> ExportProblem {
    ExportProblem(rule: number, name: rule.name, location: rule.location, message: message, isLoss: isLoss)
  }

  /// The condition as alternatives, each with criteria that all have to match. A rule with several alternatives becomes several rules in a
  /// row.
  private func alternatives(of condition: Condition, depth: Int, _ losses: inout [String]) -> [[Condition]] {
    guard depth <= 32 else {
      losses.append("the match is nested too deep")
      return []
    }
    switch condition {
    case .all(let parts):
      var result: [[Condition]] = [[]]
      for part in parts {
        let more = alternatives(of: part, depth: depth + 1, &losses)
        guard result.count * more.count <= 64 else {
          losses.append("it would become more than 64 rules")
          return []
        }
        result = result.flatMap { one in more.map { one + $0 } }
      }
      return result
    case .any(let parts):
      if parts.isEmpty { return [[]] }
      let result = parts.flatMap { alternatives(of: $0, depth: depth + 1, &losses) }
      if result.count > 64 { losses.append("it would become more than 64 rules") }
      return Array(result.prefix(64))
    case .network(let names):
      if names.isEmpty { return [[]] }
      return alternatives(of: .any(names.map { networks[$0] ?? .never }), depth: depth + 1, &losses)
    case .criterion:
      if let types = condition.wanted(of: FactTable.interface), types.count > 1 { return types.map { [.interface([$0])] } }
      return [[condition]]
    case .not: return [[condition]]
    }
  }

  private func add(_ criterion: Condition, to entries: inout [Property.Entry], _ losses: inout [String]) {
    guard let entry = appleCriterion(criterion, &losses) else { return }
    guard !entries.contains(where: { $0.key == entry.key }) else {
      return losses.append("\(entry.key) would stand twice in one rule")
    }
    entries.append(entry)
  }
}

private func appleWord(_ action: Action) -> String {
  switch action {
  case .connect: "Connect"
  case .disconnect: "Disconnect"
  case .ignore: "Ignore"
  case .evaluateConnection: "EvaluateConnection"
  }
}

/// One criterion; `nil`, and reported, if Apple has no equivalent.
private func appleCriterion(_ criterion: Condition, _ losses: inout [String]) -> Property.Entry? {
  func lost(_ message: String) -> Property.Entry? {
    losses.append(message)
    return nil
  }
  switch criterion {
  case .not: return lost("`not` has no counterpart: write rules for what is meant before this one")
  case .all, .any, .network: return lost("an alternative within a criterion")
  case .criterion: break
  }
  if let types = criterion.wanted(of: FactTable.interface) {
    switch types.first {
    case .ethernet: return Property.Entry("InterfaceTypeMatch", .text("Ethernet"))
    case .wifi: return Property.Entry("InterfaceTypeMatch", .text("WiFi"))
    case .cellular: return Property.Entry("InterfaceTypeMatch", .text("Cellular"))
    case let other: return lost("interface `\(other?.rawValue ?? "none")` has no counterpart (Ethernet, WiFi and Cellular have)")
    }
  }
  if let ssids = criterion.wanted(of: FactTable.ssid) {
    let texts = ssids.compactMap { String(validating: $0.bytes, as: UTF8.self) }
    let canBeWritten = texts.allSatisfy { text in text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value < 0xfffe } }
    guard texts.count == ssids.count, canBeWritten else { return lost("an SSID that is no text cannot be written") }
    return Property.Entry("SSIDMatch", .texts(texts))
  }
  if let domains = criterion.wanted(of: FactTable.dnsDomain) { return Property.Entry("DNSDomainMatch", .texts(domains.map(\.description))) }
  if let servers = criterion.wanted(of: FactTable.dnsServer) {
    guard servers.quantifier == .each else {
      return lost("`dns-server: { any: … }`: Apple's texts disagree on what its list means, so `any` cannot be relied on")
    }
    let texts = servers.patterns.compactMap(appleText)
    guard texts.count == servers.patterns.count else {
      return lost("a prefix of name servers can be written only at whole octets of IPv4 (17.*)")
    }
    return Property.Entry("DNSServerAddressMatch", .texts(texts))
  }
  if let probe = criterion.wanted(of: FactTable.probe) {
    guard probe == Probe(url: probe.url), case .probe = readProbe(probe.url) else {
      return lost("a probe's status, pin and timeout have no counterpart, and its URL has to be one that can answer")
    }
    return Property.Entry("URLStringProbe", .text(probe.url))
  }
  return lost("`\(criterion.key)` has no counterpart")
}

/// An address, or whole octets and an asterisk.
private func appleText(_ pattern: DNSServerPattern) -> String? {
  let prefix = pattern.prefix
  if prefix.length == prefix.family.bitWidth { return prefix.address.description }
  guard prefix.family == .v4, prefix.length > 0, prefix.length.isMultiple(of: 8) else { return nil }
  return prefix.address.bytes.prefix(prefix.length / 8).map(String.init).joined(separator: ".") + ".*"
}

/// The URL of a probe that can never succeed: profiles use it for "always for these names".
private let neverAnswering = "http://0.0.0.0/"

private func connection(_ rule: ConnectionRule, _ losses: inout [String]) -> Property? {
  var entries = [
    Property.Entry("Domains", .texts(rule.domains.map(\.description))),
    Property.Entry("DomainAction", .text(rule.action == .neverConnect ? "NeverConnect" : "ConnectIfNeeded")),
  ]
  if rule.action == .connectIfNeeded {
    if !rule.servers.isEmpty { entries.append(Property.Entry("RequiredDNSServers", .texts(rule.servers.map(\.description)))) }
    if let probe = rule.probe {
      guard probe == Probe(url: probe.url), case .probe = readProbe(probe.url) else {
        losses.append("a probe's status, pin and timeout have no counterpart, and its URL has to be one that can answer")
        return nil
      }
      entries.append(Property.Entry("RequiredURLStringProbe", .text(probe.url)))
    }
  } else {
    if !rule.servers.isEmpty || rule.probe != nil { losses.append("`dns-servers` and `probe` of a name stand beside ConnectIfNeeded only") }
    if rule.action == .connectAlways { entries.append(Property.Entry("RequiredURLStringProbe", .text(neverAnswering))) }
  }
  return Property(.dictionary(entries))
}

extension Property {
  static func text(_ text: String) -> Property { Property(.string(text)) }
  static func texts(_ texts: [String]) -> Property { Property(.array(texts.map { .text($0) })) }
}
