import NetworkTypes
package import RoamwardCore

/// Reads a saved snapshot, as `roamward network --json` prints it. `nil` where there are errors. What is not mentioned is known to be absent.
package func readSnapshot(text: [UInt8], file: String) -> (snapshot: NetworkSnapshot?, diagnostics: [Diagnostic]) {
  let source = SourceText(file: file, bytes: text)
  let (root, problems) = readYAML(source)
  var reading = Reading(source, problems: problems)
  if root == nil, !problems.hasErrors { reading.error("a snapshot begins with `version: 1`, but there is nothing here", at: source.start) }
  let snapshot = root.flatMap { readSnapshot($0, &reading) }
  return (reading.problems.hasErrors ? nil : snapshot, reading.problems.sorted)
}

func readSnapshot(_ root: Node, _ reading: inout Reading) -> NetworkSnapshot? {
  guard var fields = Fields(root, of: "a snapshot", &reading), readVersion(&fields, &reading) else { return nil }
  let primary = fields.take("primary")
  let links = entries(of: fields.take("links"), "links by name", &reading).compactMap { readLink($0, &reading) }
  for key in ["captive-portal", "internet", "probes"] {
    guard let entry = fields.take(key) else { continue }
    reading.warning("`\(key)` is not used by this version", at: entry.keyLocation)
  }
  fields.finish(&reading)
  return NetworkSnapshot(primary: readPrimary(primary, of: links, in: fields, &reading), links: links)
}

/// The named link; without the key, the only link there is. `null` and `none` say that there is no network.
private func readPrimary(_ entry: Node.Entry?, of links: [LinkFacts], in fields: Fields, _ reading: inout Reading) -> String? {
  guard let entry else {
    if links.count > 1 {
      reading.error(
        "`primary` is missing, and there are several links", help: "name one of them, or say `primary: none`", at: fields.location)
    }
    return links.first?.name
  }
  switch entry.value.content {
  case .null: return nil
  case .scalar(let name, let isPlain):
    if links.contains(where: { $0.name == name }) { return name }
    if isPlain, name == "null" || name == "none" { return nil }
    reading.error(
      "there is no link \(quoted(name))", help: "the links are: \(links.map(\.name).joined(separator: ", "))", at: entry.value.location)
  case .sequence, .mapping, .refused: reading.expected("the name of a link, or none", at: entry.value)
  }
  return nil
}

private func readLink(_ entry: Node.Entry, _ reading: inout Reading) -> LinkFacts? {
  guard InterfaceName(entry.key) != nil else {
    reading.error("\(quoted(entry.key)) cannot be the name of a link", help: "use 1 to 15 characters", at: entry.keyLocation)
    return nil
  }
  guard var fields = Fields(entry.value, of: "a link", &reading) else { return nil }
  let unknown = Set(fields.optional("unknown", .oneOrMore(ValueReader<UnknownKey>.word()), &reading) ?? [])
  func fact<Value>(_ key: UnknownKey, _ value: Value?, otherwise: Value) -> Fact<Value> {
    unknown.contains(key) ? .unknown(because: "the snapshot says so") : .known(value ?? otherwise)
  }
  var link = LinkFacts(name: entry.key)
  link.type = fact(.type, fields.optional("type", ValueReader<InterfaceType>.word(), &reading), otherwise: .other)
  link.ssid = fact(.ssid, fields.optional("ssid", .ssid, &reading), otherwise: nil)
  _ = fields.take("bssid")
  link.addresses = fields.optional("addresses", .oneOrMore(.interfaceAddress), &reading) ?? []
  link.gateways = fields.optional("gateways", .oneOrMore(.address), &reading) ?? []
  link.gatewayMAC = fact(.gatewayMAC, fields.optional("gateway-mac", .mac, &reading), otherwise: nil)
  link.dnsServers = fact(.dnsServers, fields.optional("dns-servers", .oneOrMore(.address), &reading), otherwise: [])
  link.searchDomains = fact(.searchDomains, fields.optional("search-domains", .oneOrMore(.domain), &reading), otherwise: [])
  if let mtu = fields.optional("mtu", .number(68...65536), &reading) { link.mtu = mtu }
  fields.finish(&reading)
  return link
}

/// What can be unknown of a link. It is unknown then, whatever else is said.
private enum UnknownKey: String, CaseIterable, Sendable {
  case type, ssid
  case gatewayMAC = "gateway-mac"
  case dnsServers = "dns-servers"
  case searchDomains = "search-domains"
}
