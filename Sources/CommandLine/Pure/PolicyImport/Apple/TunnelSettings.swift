internal import KernelModel
import NetworkTypes
import RoamwardCore

/// Reads routes, DNS and proxies of a VPN payload: beside the dictionary of the type (`DNS`, `Proxies`, `IPv4`) or in it.
func readTunnelSettings(
  _ outer: inout Fields, _ inner: inout Fields?, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport
) {
  for key in ["DNS", "Proxies", "IPv4"] {
    guard let item = outer.take(key) ?? inner?.take(key), var fields = Fields(item, &report) else { continue }
    switch key {
    case "DNS": readDNS(&fields, &tunnel, &report)
    case "Proxies": readProxies(&fields, &tunnel, &report)
    default:
      if let override = fields.flag("OverridePrimary", &report) {
        if override.value {
          tunnel.routes = tunnel.routes ?? RoutePolicy()
          tunnel.routes?.include = [.everything(.v4), .everything(.v6)]
          report.changed(override.place, "routes include everything")
        } else {
          report.taken(override.place, "routes are left to the provider")
        }
      }
      fields.finish(&report)
    }
  }
  guard var fields = inner else { return }
  if let all = fields.flag("IncludeAllNetworks", &report) {
    tunnel.switches.includesAllNetworks = all.value
    report.taken(all.place, "include-all-networks: \(all.value)")
  }
  if let enforce = fields.flag("EnforceRoutes", &report) {
    if enforce.value {
      tunnel.routes = tunnel.routes ?? RoutePolicy()
      tunnel.routes?.isEnforced = true
      report.changed(
        enforce.place, "routes: enforce: true; programs that choose an interface themselves are only overruled by kill-switch",
        weight: .warning)
    } else {
      report.taken(enforce.place, "routes: enforce: false, which is the default")
    }
  }
  if let local = fields.flag("ExcludeLocalNetworks", &report) {
    if local.value {
      if tunnel.switches.includesAllNetworks {
        tunnel.routes = tunnel.routes ?? RoutePolicy()
        tunnel.routes?.lan = .allow
      }
      report.taken(local.place, "lan: allow")
    } else {
      tunnel.routes = tunnel.routes ?? RoutePolicy()
      tunnel.routes?.lan = .block
      report.taken(local.place, "lan: block")
    }
  }
  if let mtu = fields.number("MTU", 576...65535, &report) {
    tunnel.mtu = UInt32(mtu.value)
    report.taken(mtu.place, "mtu: \(mtu.value)")
  }
  fields.drop(
    ["ExcludeCellularServices", "ExcludeAPNs", "ExcludeDeviceCommunication"], reason: "services of Apple's devices, which Linux has not",
    &report)
  if let sleep = fields.flag("DisconnectOnSleep", &report) {
    tunnel.switches.disconnectsOnSleep = sleep.value
    report.taken(sleep.place, "disconnect-on-sleep: \(sleep.value)")
  }
  if let onUse = fields.flag("OnDemandMatchAppEnabled", &report) {
    if case .programs(let words, _) = tunnel.audience {
      tunnel.audience = .programs(ofFile: words, onUse: onUse.value)
      report.changed(onUse.place, "with `--app`: the first packet of the programs \(onUse.value ? "starts" : "does not start") the tunnel")
    } else {
      report.dropped(onUse.place, "has a meaning in a per-app VPN alone", weight: .warning)
    }
  }
  fields.drop(
    ["ProviderBundleIdentifier", "ProviderDesignatedRequirement", "ProviderType"], reason: "names an application of Apple's systems",
    &report)
  inner = fields
}

private func readDNS(_ fields: inout Fields, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
  var dns = DNSPolicy()
  if let servers = fields.texts("ServerAddresses", &report) { dns.servers = readAddresses(servers.values, at: servers.place, &report) }
  if let domains = fields.texts("SearchDomains", &report) { dns.searchDomains = readNames(domains.values, at: domains.place, &report) }
  if let domain = fields.text("DomainName", &report) {
    if let name = DomainName(domain.value) {
      if !dns.searchDomains.contains(name) { dns.searchDomains.insert(name, at: 0) }
      report.changed(domain.place, "the first of the search domains")
    } else {
      report.dropped(domain.place, "this is no domain name", weight: .error)
    }
  }
  if let domains = fields.texts("SupplementalMatchDomains", &report) {
    dns.matchDomains = domains.values.compactMap { item in
      // An empty text is every name.
      guard let text = item.text, let pattern = text.isEmpty ? .any : DomainPattern(text) else {
        report.dropped(item.place, "this is no domain name", weight: .error)
        return nil
      }
      return pattern
    }
    report.taken(domains.place, "match-domains")
    let isSearchedToo = fields.flag("SupplementalMatchDomainsNoSearch", &report)
    if isSearchedToo?.value != true {
      for case .within(let name) in dns.matchDomains where !dns.searchDomains.contains(name) && !isReverse(name) {
        dns.searchDomains.append(name)
      }
    }
    if let isSearchedToo { report.taken(isSearchedToo.place, isSearchedToo.value ? "" : "match domains are search domains too") }
  }
  fields.drop(["SupplementalMatchDomainsNoSearch"], reason: "without effect: there are no match domains", &report)
  if let way = fields.text("DNSProtocol", &report) {
    if way.value == "Cleartext" {
      report.taken(way.place)
    } else {
      report.dropped(
        way.place, "a tunnel's name servers are asked in clear text, inside the tunnel; encrypted DNS cannot be said", weight: .warning)
    }
  }
  fields.drop(["ServerURL", "ServerName"], reason: "encrypted DNS cannot be said of a tunnel", weight: .warning, &report)
  fields.finish(&report)
  if dns.servers.isEmpty, !dns.matchDomains.isEmpty {
    report.record("match domains without a server that answers for them are left out", weight: .warning, line: fields.place.line)
    dns.matchDomains = []
  }
  if dns != DNSPolicy() { tunnel.dns = dns }
}

private func isReverse(_ name: DomainName) -> Bool { name.text.hasSuffix("in-addr.arpa") || name.text.hasSuffix("ip6.arpa") }

private func readNames(_ items: [Item], at place: KeyPath, _ report: inout ImportReport) -> [DomainName] {
  let before = report.entries.count
  let names = items.compactMap { item -> DomainName? in
    if let name = item.text.flatMap({ DomainName($0) }) { return name }
    report.dropped(item.place, "this is no domain name", weight: .error)
    return nil
  }
  if report.entries.count == before { report.taken(place) }
  return names
}

/// A name, an address or a prefix. macOS leaves out its last zeros: `169.254/16`, which it puts into every list by itself.
private func readProxyException(_ item: Item, _ report: inout ImportReport) -> String? {
  let text = trimmed(item.text ?? "")
  if IPPrefix(text) != nil || DomainPattern(text) != nil { return text }
  let parts = text.split(separator: "/", omittingEmptySubsequences: false)
  let octets = parts.first?.split(separator: ".", omittingEmptySubsequences: false) ?? []
  if parts.count == 2, (1...3).contains(octets.count) {
    let whole = (octets.map(String.init) + Array(repeating: "0", count: 4 - octets.count)).joined(separator: ".") + "/\(parts[1])"
    if IPPrefix(whole) != nil {
      report.changed(item.place, "written out as \(whole)")
      return whole
    }
  }
  report.dropped(item.place, "neither a domain nor an address, so this exception is left out", weight: .warning)
  return nil
}

private func readProxies(_ fields: inout Fields, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
  var proxy = ProxyPolicy()
  let usesPAC = fields.flag("ProxyAutoConfigEnable", &report)
  if let usesPAC { report.taken(usesPAC.place) }
  if let url = fields.text("ProxyAutoConfigURLString", &report) {
    if case .probe(let checked, _) = readProbe(url.value), usesPAC?.value == true {
      proxy.pac = checked.url
      report.taken(url.place, "proxy pac")
    } else {
      report.dropped(
        url.place, usesPAC?.value == true ? "this is no usable URL" : "without effect: ProxyAutoConfigEnable is off", weight: .warning)
    }
  }
  for (key, path) in [("HTTP", \ProxyPolicy.http), ("HTTPS", \ProxyPolicy.https)] {
    let isOn = fields.flag("\(key)Enable", &report)
    let host = fields.text("\(key)Proxy", &report)
    let port = fields.number("\(key)Port", 1...65535, &report)
    if let isOn { report.taken(isOn.place) }
    guard isOn?.value == true, let host, IPAddress(host.value) != nil || DomainName(host.value) != nil else {
      if let host { report.dropped(host.place, "without effect, or no usable host", weight: .warning) }
      if let port { report.dropped(port.place, "its proxy is not used", weight: .warning) }
      continue
    }
    let isV6 = IPAddress(host.value)?.family == .v6
    proxy[keyPath: path] = "http://\(isV6 ? "[\(host.value)]" : host.value):\(port?.value ?? 8080)"
    report.taken(host.place, "proxy \(key.lowercased())")
    if let port { report.taken(port.place) } else { report.record("\(key)Port is missing; 8080 is assumed", weight: .warning) }
  }
  if let exceptions = fields.texts("ExceptionList", &report) ?? fields.texts("ExceptionsList", &report) {
    proxy.exclude = exceptions.values.compactMap { readProxyException($0, &report) }
    report.taken(exceptions.place, "proxy exclude")
  }
  if let simple = fields.flag("ExcludeSimpleHostnames", &report) {
    proxy.excludesSimpleNames = simple.value
    report.taken(simple.place, "proxy exclude-simple-names")
  }
  for key in ["HTTPProxyUsername", "HTTPProxyPassword", "HTTPSProxyUsername", "HTTPSProxyPassword"] {
    guard let item = fields.take(key) else { continue }
    let file = item.text.map { tunnel.addSecret(key.lowercased(), Array($0.utf8)) }
    report.dropped(
      item.place, "a proxy with a password cannot be said; \(file.map { "kept in \($0), for root alone" } ?? "no text")", weight: .warning)
  }
  fields.finish(&report)
  if proxy.pac != nil, proxy.http != nil || proxy.https != nil || !proxy.exclude.isEmpty || proxy.excludesSimpleNames {
    report.record("the script decides, so the other proxies and their exceptions are left out", weight: .warning)
    (proxy.http, proxy.https, proxy.exclude) = (nil, nil, [])
    proxy.excludesSimpleNames = false
  }
  if proxy.pac == nil, proxy.http == nil, proxy.https == nil { return }
  // The system's proxies are those of every program there.
  proxy.publish = [.environment, .dconf, .chromium, .firefox]
  tunnel.proxy = proxy
}
