package import JSON
internal import NetworkTypes
package import RoamwardCore

extension NetworkSnapshot {
  /// The snapshot file's form: what `roamward network --json` prints and `evaluate --network` reads, to the same snapshot but for the
  /// reasons of what is unknown. What a file says by silence is not printed.
  package var json: JSON {
    var members: [JSON.Member] = [.init(key: "version", value: 1), .init(key: "primary", value: JSON(primary))]
    func add(_ key: String, _ value: JSON) { members.append(JSON.Member(key: key, value: value)) }
    add("links", .object(links.map { JSON.Member(key: $0.name, value: $0.json) }))
    if captivePortal != .known(false) { add("captive-portal", word(captivePortal) { .bool($0) }) }
    if internet != .known(true) { add("internet", word(internet) { .bool($0) }) }
    if !probes.isEmpty {
      add("probes", .object(probes.sorted { $0.key < $1.key }.map { JSON.Member(key: $0.key, value: probeWord($0.value)) }))
    }
    if otherProbes != .known(false) { add("other-probes", probeWord(otherProbes)) }
    if !rememberedProbes.isEmpty {
      let members = rememberedProbes.sorted { $0.key < $1.key }.map { JSON.Member(key: $0.key, value: $0.value ? "ok" : "fail") }
      add("remembered-probes", .object(members))
    }
    if let portalAPI { add("captive-portal-api", .string(portalAPI)) }
    if let time = time.value { add("time", .string(text(of: time))) }
    if power != .known(.ac) { add("power", word(power) { .string($0.rawValue) }) }
    return .object(members)
  }
}

extension LinkFacts {
  /// Keys whose value is not known are listed under `unknown`; an absent key is known to be absent.
  fileprivate var json: JSON {
    var members: [JSON.Member] = []
    var unknown: [String] = []
    func add<Value>(_ key: String, _ fact: Fact<Value>, _ encode: (Value) -> JSON?) {
      guard case .known(let value) = fact else { return unknown.append(key) }
      if let json = encode(value) { members.append(JSON.Member(key: key, value: json)) }
    }
    func list(_ items: [some CustomStringConvertible]) -> JSON? { items.isEmpty ? nil : JSON(items.map(\.description)) }
    add("type", type) { .string($0.rawValue) }
    add("ssid", ssid) { $0.map { .string(text(of: $0)) } }
    add("bssid", bssid) { $0.map { .string($0.description) } }
    add("wifi-security", wifiSecurity) { $0.map { .string($0.rawValue) } }
    add("metered", metered) { $0 ? true : nil }
    add("addresses", .known(addresses), list)
    add("gateways", .known(gateways), list)
    add("gateway-mac", gatewayMAC) { $0.map { .string($0.description) } }
    add("dns-servers", dnsServers, list)
    add("search-domains", searchDomains, list)
    add("mtu", .known(mtu)) { .integer(Int64($0)) }
    if !unknown.isEmpty { members.append(JSON.Member(key: "unknown", value: JSON(unknown))) }
    return .object(members)
  }
}

private func word<Value>(_ fact: Fact<Value>, _ encode: (Value) -> JSON) -> JSON { fact.value.map(encode) ?? "unknown" }

private func probeWord(_ fact: Fact<Bool>) -> JSON { word(fact) { $0 ? "ok" : "fail" } }

/// `mon 09:30`, with seconds where there are any.
private func text(of time: LocalTime) -> String {
  let second = time.second % 60
  return "\(time.day) \(clockText(minute: time.second / 60))" + (second == 0 ? "" : second < 10 ? ":0\(second)" : ":\(second)")
}

/// A name that a file may not hold as text is written in bytes.
private func text(of ssid: SSID) -> String {
  let text = ssid.description
  guard text.unicodeScalars.contains(where: isRefusedInFiles) else { return text }
  return "hex:" + ssid.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// Controls, line ends of Unicode, byte order marks and what is no character.
private func isRefusedInFiles(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0..<0x20, 0x7f..<0xa0, 0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff: true
  default: false
  }
}
