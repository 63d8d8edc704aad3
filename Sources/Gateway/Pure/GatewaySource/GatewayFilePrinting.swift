import GatewayCore
import GatewayLogin
package import JSON
import NetworkTypes
import PolicySource

extension GatewayFile {
  /// The text of a file that declares this.
  package var text: String {
    var mapping = YAMLMapping()
    mapping.add("version", .word("1"))
    mapping.add("gateway", declaration.site.map { $0.value.yaml(host.texts[.forwarding]?.value) })
    mapping.add("pools", declaration.pools.map { pools in named(pools.value.map { ("\($0.value.name)", $0.value.yaml) }) })
    if !declaration.groups.isEmpty { mapping.add("groups", named(declaration.groups.map { ("\($0.value.name)", $0.value.yaml) })) }
    if !declaration.users.isEmpty { mapping.add("users", named(declaration.users.map { ("\($0.value.name)", $0.value.yaml) })) }
    if !declaration.settings.isEmpty { mapping.add("settings", settingsOfScopes) }
    mapping.add("access", declaration.rules.map { .list($0.value.map { $0.value.yaml }) })
    host.add(to: &mapping)
    if !expectations.isEmpty { mapping.add("expect", .list(expectations.map { .text($0.value.description) })) }
    return mapping.text
  }

  /// The same as JSON, which a file may have too.
  package var json: JSON {
    let root = readYAML(SourceText(policy: "", Array(text.utf8))).root
    return root.flatMap { SettingTree($0) }?.json ?? .null
  }

  private var settingsOfScopes: YAMLValue {
    var scopes = YAMLMapping()
    for settings in declaration.settings where settings.value.scope == .everybody { scopes.add("everybody", settings.value.yaml) }
    for kind in ["groups", "users", "devices"] {
      let own = declaration.settings.compactMap { settings -> (String, YAMLValue)? in
        switch (kind, settings.value.scope) {
        case ("groups", .group(let name)), ("users", .user(let name)): (name.description, settings.value.yaml)
        case ("devices", .device(let path)): (path.description, settings.value.yaml)
        default: nil
        }
      }
      if !own.isEmpty { scopes.add(kind, named(own)) }
    }
    return .mapping(scopes)
  }
}

private func named(_ entries: [(String, YAMLValue)]) -> YAMLValue { .mapping(YAMLMapping(entries.map { (key: $0.0, value: $0.1) })) }
private func words(_ values: [some CustomStringConvertible]) -> YAMLValue { .oneOrMore(values.map { .text($0.description) }) }
/// A list of a length that has a meaning when it is empty.
private func list(_ values: [some CustomStringConvertible]) -> YAMLValue { .list(values.map { .text($0.description) }) }

extension Declaration.Site {
  /// `forwarding`: the text of that setting.
  fileprivate func yaml(_ forwarding: String?) -> YAMLValue {
    var mapping = YAMLMapping([("endpoint", .text(endpoint.description))])
    mapping.add("link", link.map { .text($0.description) })
    mapping.add("name", name.map { .text($0.description) })
    mapping.add("forwarding", forwarding.flatMap { SettingFile.forwarding.yaml(of: $0) })
    return .mapping(mapping)
  }
}

extension Declaration.Pool {
  fileprivate var yaml: YAMLValue {
    var mapping = YAMLMapping([("prefix", .text(prefix.description))])
    if isTranslated { mapping.add("masquerade", .word("true")) }
    if isEverywhere { mapping.add("everywhere", .word("true")) }
    return .mapping(mapping)
  }
}

extension Declaration.Group {
  fileprivate var yaml: YAMLValue {
    var mapping = YAMLMapping()
    if precedence != 100 { mapping.add("precedence", .word("\(precedence)")) }
    mapping.add("members", members.map { list($0) })
    return .mapping(mapping)
  }
}

extension Declaration.User {
  fileprivate var yaml: YAMLValue { .mapping(YAMLMapping(until.map { [("until", .text($0.description))] } ?? [])) }
}

extension Declaration.ScopeSettings {
  fileprivate var yaml: YAMLValue {
    var mapping = YAMLMapping()
    mapping.add("routes", pushed.routes.map { list($0) })
    mapping.add("dns", pushed.dns.map { list($0) })
    mapping.add("search", pushed.search.map { list($0) })
    mapping.add("mtu", pushed.mtu.map { .word("\($0)") })
    mapping.add("keepalive", pushed.keepalive.map { .word("\($0)") })
    mapping.add("devices", deviceLimit.map { .word("\($0)") })
    return .mapping(mapping)
  }
}

extension Declaration.Rule {
  fileprivate var yaml: YAMLValue {
    var mapping = YAMLMapping([(isAllowing ? "allow" : "deny", .text(name.description)), ("from", .text(source.description))])
    switch destination {
    case .everything: mapping.add("to", .text("everything"))
    case .prefixes(let prefixes): mapping.add("to", words(prefixes))
    case .group(let name): mapping.add("to", .text("group:\(name)"))
    }
    if transport != .any { mapping.add("protocol", .text(transport.rawValue)) }
    if !ports.isEmpty { mapping.add("ports", .oneOrMore(ports.map { .word($0.description) })) }
    return .mapping(mapping)
  }
}

extension HostSettings {
  fileprivate func add(to mapping: inout YAMLMapping) {
    for key in ["logins", "relay", "page", "store"] {
      let own = ordered.filter { $0.setting.key[0] == key }
      if let single = own.first, single.setting.key.count == 1 {
        mapping.add(key, single.text.value.flatMap { single.setting.yaml(of: $0) } ?? .word("off"))
        continue
      }
      var inner = YAMLMapping()
      for (setting, text) in own { inner.add(setting.key[1], text.value.flatMap { setting.yaml(of: $0) }) }
      if key != "logins" {
        if !inner.isEmpty { mapping.add(key, .mapping(inner)) }
      } else if let logins {
        mapping.add(key, logins.value ? .mapping(inner) : .word("off"))
      }
    }
  }
}

extension OpenIDSettings {
  var yaml: YAMLValue {
    let usual = OpenIDSettings(issuer: issuer, clientID: clientID)
    var mapping = YAMLMapping([("issuer", .text(issuer)), ("client-id", .text(clientID))])
    mapping.add("client-secret-file", secretFile.map { .text($0) })
    mapping.add("authority-file", authorityFile.map { .text($0) })
    if userClaim != usual.userClaim { mapping.add("user-claim", .text(userClaim)) }
    if groupsClaim != usual.groupsClaim { mapping.add("groups-claim", .text(groupsClaim)) }
    if scopes != usual.scopes { mapping.add("scopes", list(scopes.filter { $0 != "openid" })) }
    if !groups.isEmpty { mapping.add("groups", named(groups.map { ($0.group.description, .text($0.value)) })) }
    if createsUsers { mapping.add("create-users", .word("true")) }
    return .mapping(mapping)
  }
}

extension PAMSettings {
  var yaml: YAMLValue {
    var mapping = YAMLMapping([("service", .text(service))])
    if createsUsers { mapping.add("create-users", .word("true")) }
    if seconds != PAMSettings(service: service).seconds { mapping.add("timeout", .word("\(seconds)")) }
    return .mapping(mapping)
  }
}

extension PageSettings {
  var yaml: YAMLValue {
    var mapping = YAMLMapping()
    if port != PageSettings().port { mapping.add("port", .word("\(port)")) }
    mapping.add("administrators", administrators.map { .text($0.description) })
    mapping.add("operators", operators.map { .text($0.description) })
    mapping.add("title", title.map { .text($0) })
    if !names.isEmpty { mapping.add("names", words(names)) }
    return .mapping(mapping)
  }
}
