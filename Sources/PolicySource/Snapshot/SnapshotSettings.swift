import NetworkTypes
package import RoamwardCore

/// Applies invented facts, each `KEY=VALUE`, to the primary link. The first setting of a list replaces what the snapshot said, further
/// ones of the same key add to it. Without a primary link, one called `link` is made.
///
/// Keys: those of a match, from `interface` to `power`, and `address`, which is the same as `subnet`. Lists are split at commas. Nothing
/// after the `=` is a known nothing; `KEY=unknown()` is unknown. An SSID, an access point or a Wi-Fi security, without an interface, makes
/// a link of no stated type a Wi-Fi link.
package func applySettings(_ texts: [String], to snapshot: inout NetworkSnapshot) -> [Diagnostic] {
  var seen: Set<SettingKey> = []
  defer { if !seen.contains(.interface), !seen.isDisjoint(with: SettingKey.ofRadio) { snapshot.primaryBecomesWiFiIfRadioIsSaid() } }
  return texts.compactMap { text in
    guard let key = text.firstIndex(of: "=").flatMap({ SettingKey(rawValue: String(text[..<$0]))?.canonical }) else {
      return applySetting(text, to: &snapshot)
    }
    let isFirst = seen.insert(key).inserted
    return apply(text, to: &snapshot, replacing: isFirst)
  }
}

/// Applies one invented fact; a list key adds to what is there. See `applySettings`.
package func applySetting(_ text: String, to snapshot: inout NetworkSnapshot) -> Diagnostic? {
  let problem = apply(text, to: &snapshot, replacing: false)
  if SettingKey.ofRadio.contains(where: { text.hasPrefix("\($0.rawValue)=") }) { snapshot.primaryBecomesWiFiIfRadioIsSaid() }
  return problem
}

/// Applies what became of a probe, `URL=ok`, `URL=fail` or `URL=unknown`.
package func applyProbeAssumption(_ text: String, to snapshot: inout NetworkSnapshot) -> Diagnostic? {
  func refusal(_ message: String, _ help: String, offset: Int) -> Diagnostic { invented(text, "--assume-probe", message, help, offset) }
  guard let equals = text.lastIndex(of: "=") else {
    return refusal("expected URL=ok, URL=fail or URL=unknown", "for example: --assume-probe https://beacon.corp.example/=ok", offset: 0)
  }
  let answer = String(text[text.index(after: equals)...])
  guard let fact = parseAnswer(answer, "--assume-probe says so") else {
    let offset = text[...equals].unicodeScalars.count
    return refusal(
      "expected ok, fail or unknown, found \(quoted(answer))", "for example: --assume-probe https://beacon.corp.example/=ok", offset: offset
    )
  }
  guard let url = webAddress(String(text[..<equals])) else {
    return refusal("expected an http:// or https:// URL with a host", "write it as the policy does", offset: 0)
  }
  // What is said of a URL is said of every probe of it.
  for name in snapshot.probes.keys where name.hasPrefix(url + " ") { snapshot.probes[name] = nil }
  snapshot.probes[url] = fact
  return nil
}

private enum SettingKey: String, CaseIterable {
  case interface
  case interfaceName = "interface-name"
  case ssid, bssid
  case wifiSecurity = "wifi-security"
  case dnsDomain = "dns-domain"
  case dnsServer = "dns-server"
  case subnet, address, gateway
  case gatewayMAC = "gateway-mac"
  case captivePortal = "captive-portal"
  case internet, metered, time, power

  static let ofRadio: Set<SettingKey> = [.ssid, .bssid, .wifiSecurity]

  var canonical: SettingKey { self == .subnet ? .address : self }
}

private func apply(_ text: String, to snapshot: inout NetworkSnapshot, replacing: Bool) -> Diagnostic? {
  var setting = Setting(text: text, replacing: replacing)
  guard let equals = text.firstIndex(of: "=") else {
    return setting.refusal("expected KEY=VALUE", help: "for example: --set interface=wifi", offset: 0)
  }
  let word = String(text[..<equals])
  guard let key = SettingKey(rawValue: word) else {
    let known = SettingKey.allCases.map(\.rawValue)
    return setting.refusal(
      "unknown key \(quoted(word))",
      help: nearest(to: word, among: known).map { "did you mean `\($0)`?" } ?? "known keys: \(known.joined(separator: ", "))",
      offset: 0)
  }
  setting.valueOffset = word.unicodeScalars.count + 1
  let value = String(text[text.index(after: equals)...])
  var changed = snapshot
  setting.apply(key, value, to: &changed)
  if setting.problem == nil { snapshot = changed }
  if value == "unknown" { setting.problem?.help = "a fact that is not known is written `\(word)=unknown()`" }
  return setting.problem
}

private func invented(_ text: String, _ option: String, _ message: String, _ help: String?, _ offset: Int) -> Diagnostic {
  let source = SourceText(file: option, bytes: Array(text.utf8))
  return source.diagnostic(.error, message, help: help, at: SourceLocation(file: option, line: 1, column: offset + 1))
}

/// One `KEY=VALUE` while it is being applied.
private struct Setting {
  let text: String
  let replacing: Bool
  var valueOffset = 0
  var problem: Diagnostic?

  init(text: String, replacing: Bool) {
    self.text = text
    self.replacing = replacing
  }

  func refusal(_ message: String, help: String? = nil, offset: Int) -> Diagnostic {
    invented(text, "--set", message, help, offset)
  }

  mutating func apply(_ key: SettingKey, _ value: String, to snapshot: inout NetworkSnapshot) {
    if key == .interfaceName {
      choose(value, in: &snapshot)
      return
    }
    if snapshot.primaryLink == nil { snapshot.adopt(LinkFacts(name: "link")) }
    guard let i = snapshot.links.firstIndex(where: { $0.name == snapshot.primary }) else { return }
    if value == "unknown()" {
      makeUnknown(key, in: &snapshot, link: i)
    } else {
      assign(key, value, in: &snapshot, link: i)
    }
  }

  /// Another link of the snapshot becomes the primary one; a new name renames it.
  private mutating func choose(_ name: String, in snapshot: inout NetworkSnapshot) {
    guard InterfaceName(name) != nil, name != "unknown()" else {
      problem = refusal("expected a link name of 1 to 15 characters, found \(quoted(name))", offset: valueOffset)
      return
    }
    if snapshot.links.contains(where: { $0.name == name }) {
      snapshot.primary = name
    } else if var link = snapshot.primaryLink {
      snapshot.links.removeAll { $0.name == link.name }
      link.name = name
      snapshot.adopt(link)
    } else {
      snapshot.adopt(LinkFacts(name: name))
    }
  }

  private mutating func makeUnknown(_ key: SettingKey, in snapshot: inout NetworkSnapshot, link: Int) {
    let reason = "--set says so"
    switch key {
    case .interface: snapshot.links[link].forget(.type, because: reason)
    case .ssid: snapshot.links[link].forget(.ssid, because: reason)
    case .bssid: snapshot.links[link].forget(.bssid, because: reason)
    case .wifiSecurity: snapshot.links[link].forget(.wifiSecurity, because: reason)
    case .dnsDomain: snapshot.links[link].forget(.searchDomains, because: reason)
    case .dnsServer: snapshot.links[link].forget(.dnsServers, because: reason)
    case .gatewayMAC: snapshot.links[link].forget(.gatewayMAC, because: reason)
    case .metered: snapshot.links[link].forget(.metered, because: reason)
    case .captivePortal: snapshot.captivePortal = .unknown(because: reason)
    case .internet: snapshot.internet = .unknown(because: reason)
    case .time: snapshot.time = .unknown(because: reason)
    case .power: snapshot.power = .unknown(because: reason)
    case .interfaceName, .subnet, .address, .gateway: problem = refusal("`\(key.rawValue)` is never unknown", offset: valueOffset)
    }
  }

  private mutating func assign(_ key: SettingKey, _ value: String, in snapshot: inout NetworkSnapshot, link i: Int) {
    let link = snapshot.links[i]
    switch key {
    case .interface: snapshot.links[i].type = word(value).map { .known($0) } ?? link.type
    case .ssid: snapshot.links[i].ssid = optional(value, "an SSID of 1 to 32 bytes", link.ssid) { SSID($0) }
    case .bssid: snapshot.links[i].bssid = optional(value, Self.mac, link.bssid) { MACAddress($0) }
    case .gatewayMAC: snapshot.links[i].gatewayMAC = optional(value, Self.mac, link.gatewayMAC) { MACAddress($0) }
    case .wifiSecurity: snapshot.links[i].wifiSecurity = value.isEmpty ? .known(nil) : word(value).map { .known($0) } ?? link.wifiSecurity
    case .dnsDomain:
      snapshot.links[i].searchDomains = .known(list(value, "a domain name", after: link.searchDomains.value ?? []) { DomainName($0) })
    case .dnsServer:
      snapshot.links[i].dnsServers = .known(list(value, "an IP address", after: link.dnsServers.value ?? []) { IPAddress($0) })
    case .subnet, .address:
      snapshot.links[i].addresses = list(value, "an address with its prefix length, such as 192.0.2.23/24", after: link.addresses) {
        InterfaceAddress($0)
      }
    case .gateway: snapshot.links[i].gateways = list(value, "an IP address", after: link.gateways) { IPAddress($0) }
    case .metered: snapshot.links[i].metered = boolean(value) ?? link.metered
    case .captivePortal: snapshot.captivePortal = boolean(value) ?? snapshot.captivePortal
    case .internet: snapshot.internet = boolean(value) ?? snapshot.internet
    case .power: snapshot.power = word(value).map { .known($0) } ?? snapshot.power
    case .time:
      if let time = parseLocalTime(value) {
        snapshot.time = .known(time)
      } else {
        problem = refusal("expected a day and a time, such as \"mon 09:30\", found \(quoted(value))", offset: valueOffset)
      }
    case .interfaceName: break
    }
  }

  private static let mac = "a MAC address such as 02:00:5e:10:00:01"

  /// Nothing is a known nothing.
  private mutating func optional<T>(_ value: String, _ expected: String, _ earlier: Fact<T?>, _ make: (String) -> T?) -> Fact<T?> {
    if value.isEmpty { return .known(nil) }
    if let made = make(value) { return .known(made) }
    problem = refusal("expected \(expected), found \(quoted(value))", offset: valueOffset)
    return earlier
  }

  private mutating func word<T: CaseIterable & RawRepresentable>(_ value: String) -> T? where T.RawValue == String {
    if let made = T(rawValue: value) { return made }
    let words = T.allCases.map(\.rawValue)
    problem = refusal(
      "expected \(alternatives(words)), found \(quoted(value))", help: nearest(to: value, among: words).map { "did you mean `\($0)`?" },
      offset: valueOffset)
    return nil
  }

  private mutating func boolean(_ value: String) -> Fact<Bool>? {
    if let known = parseBoolean(value) { return .known(known) }
    problem = refusal("expected true or false, found \(quoted(value))", offset: valueOffset)
    return nil
  }

  private mutating func list<T>(_ value: String, _ expected: String, after earlier: [T], _ make: (String) -> T?) -> [T] {
    if value.isEmpty { return [] }
    var offset = valueOffset
    var items = replacing ? [] : earlier
    for part in value.split(separator: ",", omittingEmptySubsequences: false) {
      if let item = make(trimmed(part)) {
        items.append(item)
      } else {
        problem = problem ?? refusal("expected \(expected), found \(quoted(String(part)))", offset: offset)
      }
      offset += part.unicodeScalars.count + 1
    }
    return items
  }
}

extension NetworkSnapshot {
  fileprivate mutating func primaryBecomesWiFiIfRadioIsSaid() {
    for i in links.indices where links[i].name == primary { links[i].becomeWiFiIfRadioIsSaid() }
  }

  fileprivate mutating func adopt(_ link: LinkFacts) {
    primary = link.name
    links = (links.filter { $0.name != link.name } + [link]).sorted { $0.name < $1.name }
  }
}
