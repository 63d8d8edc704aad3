import KernelModel

extension ProxyPublication {
  /// The script of the first connected tunnel with proxies that are published: enterprise tunnels come first. The sinks are those of all
  /// tunnels that may be started, so that they change with the policies alone. `nil`: no policy publishes proxies.
  init?(of tunnels: [TunnelSetup]) {
    let publishing = tunnels.filter(\.policy.publishesProxies)
    if publishing.isEmpty { return nil }
    let scripts = publishing.filter { $0.level == .full }.inOrderOfNames.compactMap(\.proxyScript)
    self.init(scripts.first ?? .direct, for: Set(publishing.flatMap { $0.policy.proxy?.publish ?? [] }))
  }
}

extension TunnelSetup {
  /// The script of the tunnel's proxies; `nil`: it has none.
  var proxyScript: ProxyScript? {
    guard let proxy = policy.proxy else { return nil }
    if let file = proxy.file { return .own(file.bytes, tunnel: policy.name) }
    // Without a link, nothing keeps the request inside the tunnel.
    if let url = proxy.pac { return link.map { .fetched(ScriptSource(url: url, link: $0, servers: dns.servers), tunnel: policy.name) } }
    return proxy.rules.map { .rules($0, tunnel: policy.name) }
  }
}
