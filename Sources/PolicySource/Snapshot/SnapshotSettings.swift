import NetworkTypes
package import RoamwardCore

/// Applies invented facts, each `KEY=VALUE`, to the primary link. The first setting of a list replaces what the snapshot said, further
/// ones of the same key add to it. Without a primary link, one called `link` is made.
///
/// Keys: `interface`, `interface-name`, `ssid`, `dns-domain`, `dns-server`, `subnet` or `address`, `gateway`. Lists are split at commas.
/// Nothing after the `=` is a known nothing; `KEY=unknown()` is unknown.
package func applySettings(_ texts: [String], to snapshot: inout NetworkSnapshot) -> [Diagnostic] {
  var seen: Set<SettingKey> = []
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
  apply(text, to: &snapshot, replacing: false)
}

private enum SettingKey: String, CaseIterable {
  case interface
  case interfaceName = "interface-name"
  case ssid
  case dnsDomain = "dns-domain"
  case dnsServer = "dns-server"
  case subnet, address, gateway

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
  return setting.problem
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
    let source = SourceText(file: "--set", bytes: Array(text.utf8))
    return source.diagnostic(.error, message, help: help, at: SourceLocation(file: "--set", line: 1, column: offset + 1))
  }

  mutating func apply(_ key: SettingKey, _ value: String, to snapshot: inout NetworkSnapshot) {
    if key == .interfaceName {
      choose(value, in: &snapshot)
      return
    }
    if snapshot.primaryLink == nil { snapshot.adopt(LinkFacts(name: "link")) }
    guard let i = snapshot.links.firstIndex(where: { $0.name == snapshot.primary }) else { return }
    if value == "unknown()" {
      makeUnknown(key, of: &snapshot.links[i])
    } else {
      assign(key, value, to: &snapshot.links[i])
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

  private mutating func makeUnknown(_ key: SettingKey, of link: inout LinkFacts) {
    let reason = "--set says so"
    switch key {
    case .interface: link.type = .unknown(because: reason)
    case .ssid: link.ssid = .unknown(because: reason)
    case .dnsDomain: link.searchDomains = .unknown(because: reason)
    case .dnsServer: link.dnsServers = .unknown(because: reason)
    case .interfaceName, .subnet, .address, .gateway: problem = refusal("`\(key.rawValue)` is never unknown", offset: valueOffset)
    }
  }

  private mutating func assign(_ key: SettingKey, _ value: String, to link: inout LinkFacts) {
    switch key {
    case .interface:
      let words = InterfaceType.allCases.map(\.rawValue)
      if let type = InterfaceType(rawValue: value) {
        link.type = .known(type)
      } else {
        problem = refusal(
          "expected \(alternatives(words)), found \(quoted(value))", help: nearest(to: value, among: words).map { "did you mean `\($0)`?" },
          offset: valueOffset)
      }
    case .ssid:
      if value.isEmpty {
        link.ssid = .known(nil)
      } else if let ssid = SSID(value) {
        link.ssid = .known(ssid)
      } else {
        problem = refusal("expected an SSID of 1 to 32 bytes, found \(quoted(value))", offset: valueOffset)
      }
    case .dnsDomain: link.searchDomains = .known(list(value, "a domain name", after: link.searchDomains.value ?? []) { DomainName($0) })
    case .dnsServer: link.dnsServers = .known(list(value, "an IP address", after: link.dnsServers.value ?? []) { IPAddress($0) })
    case .subnet, .address:
      link.addresses = list(value, "an address with its prefix length, such as 192.0.2.23/24", after: link.addresses) {
        InterfaceAddress($0)
      }
    case .gateway: link.gateways = list(value, "an IP address", after: link.gateways) { IPAddress($0) }
    case .interfaceName: break
    }
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
  fileprivate mutating func adopt(_ link: LinkFacts) {
    self = NetworkSnapshot(primary: link.name, links: links.filter { $0.name != link.name } + [link])
  }
}
