import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// Proxies of policies: which URL goes where, what programs without a script are given, and which tunnel's are in use.
@Suite struct ProxyTests {
  private static func rules(
    http: String? = "10.0.0.80:3128", https: String? = "10.0.0.80:3128", _ exclude: String..., simple: Bool = false
  ) -> ProxyRules {
    ProxyRules(
      http: http.flatMap { ProxyServer($0) }, https: https.flatMap { ProxyServer($0) }, exclude: exclude.compactMap { ProxyException($0) },
      excludesSimpleNames: simple)
  }

  @Test("the variable no_proxy has this machine, and each exception in the words of curl, Go and Python")
  func noProxy() {
    let own = "localhost,127.0.0.0/8,::1"
    let table: [(ProxyRules, String)] = [
      (Self.rules(), own),
      (Self.rules("corp.example"), "\(own),corp.example"),
      (Self.rules("*.corp.example"), "\(own),.corp.example"),
      (Self.rules("10.0.0.0/8", "192.0.2.1", "2001:db8::/32"), "\(own),10.0.0.0/8,192.0.2.1,2001:db8::/32"),
      (Self.rules("corp.example", "*"), "*"),
      (Self.rules(simple: true), own),
    ]
    for (rules, wanted) in table {
      #expect(rules.environment.contains("no_proxy=\(wanted)") && rules.environment.contains("NO_PROXY=\(wanted)"), "\(rules)")
    }
    let one = Self.rules(http: "http://[2001:db8::80]:3128", https: nil).environment
    #expect(one.prefix(1) == ["http_proxy=http://[2001:db8::80]:3128"] && !one.contains { $0.lowercased().hasPrefix("https_proxy") })
    let names = Self.rules(http: "https://p.example/").environment.map { String($0.prefix { $0 != "=" }) }
    #expect(Set(names) == Set(ProxyRules.variables))
    #expect(Self.rules(http: "https://p.example/").environment[0] == "http_proxy=https://p.example:443")
  }

  @Test(
    "a URL goes to the proxy of its scheme, unless its host is an exception",
    arguments: [
      ("http://www.example/", "PROXY 10.0.0.80:3128"), ("https://www.example:8443/x?y#z", "HTTPS p.example:443"),
      ("ftp://www.example/", ""),
      ("ws://www.example/", "PROXY 10.0.0.80:3128"), ("http://corp.example/", ""), ("http://a.CORP.example./", ""),
      ("http://acorp.example/", "PROXY 10.0.0.80:3128"), ("http://lab.example/", "PROXY 10.0.0.80:3128"), ("http://a.lab.example/", ""),
      ("http://10.1.2.3/", ""), ("http://11.1.2.3/", "PROXY 10.0.0.80:3128"), ("http://[2001:db8::7]:80/", ""),
      ("http://[2001:db9::7]/", "PROXY 10.0.0.80:3128"),
      ("http://intranet/", ""), ("http://localhost:631/", ""), ("http://a.localhost/", ""), ("http://127.9.9.9/", ""),
      ("http://[::1]/", ""),
    ])
  func choice(url: String, wanted: String) throws {
    let rules = Self.rules(https: "https://p.example", "corp.example", "*.lab.example", "10.0.0.0/8", "2001:db8::/32", simple: true)
    let target = try #require(ProxyTarget(url))
    switch rules.choice(scheme: target.scheme, host: target.host) {
    case .direct(let reason): #expect(wanted.isEmpty && !reason.isEmpty, "\(url): \(reason)")
    case .proxy(let server, _): #expect(server.directive == wanted, "\(url)")
    }
  }

  @Test("what is no URL with a host, or has a password, is refused")
  func targets() {
    let wrong = [
      "", "www.example", "http:///x", "http://", "http://me:word@www.example/", "http://a b/", "http://[10.0.0.1]/", "http://2001:db8::1/",
      "http://x:y/",
    ]
    for url in wrong { #expect(ProxyTarget(url) == nil, "\(url)") }
    #expect(
      ProxyServer("http://me:word@p.example:1") == nil && ProxyServer("socks5://p.example:1") == nil && ProxyServer("p.example") == nil)
  }

  @Test("the proxies are those of the first connected tunnel with any, enterprise before personal; the sinks are those of all tunnels")
  func tunnels() {
    func setup(_ name: String, _ level: TunnelMachine.Level, _ proxy: ProxyPolicy?, enterprise: Bool = false, slot: UInt32) -> TunnelSetup {
      var policy = Sample.tunnel(name, rules: [])
      policy.proxy = proxy
      if enterprise { policy.precedence = .enterprise }
      return TunnelSetup(policy: policy, level: level, slot: slot, link: name, device: .foreign)
    }
    func proxy(_ server: String, _ publish: ProxySink...) -> ProxyPolicy {
      var proxy = ProxyPolicy(http: server)
      proxy.publish = publish
      return proxy
    }
    func published(_ setups: TunnelSetup...) -> ProxyPublication? {
      DesiredState(of: setups, on: UnderlayFit(NetworkSnapshot())).proxies
    }
    let home = setup("home", .full, proxy("192.0.2.1:1", .chromium), slot: 600)
    let corp = setup("corp", .full, proxy("192.0.2.2:1", .dconf, .environment), enterprise: true, slot: 3)
    #expect(published(setup("a", .full, nil, slot: 500)) == nil)
    #expect(published(setup("a", .full, proxy("192.0.2.1:1"), slot: 500)) == nil)
    #expect(published(home)?.script.tunnel == "home" && published(home)?.sinks == [.chromium])
    let both = published(home, corp)
    #expect(both?.script.tunnel == "corp" && both?.sinks == [.chromium, .dconf, .environment])
    #expect(both?.environment.first == "http_proxy=http://192.0.2.2:1")
    for level in [TunnelMachine.Level.nothing, .device, .link, .armed] {
      var down = corp
      down.level = level
      let found = published(down)
      #expect(found?.script == .direct && found?.sinks == [.dconf, .environment] && found?.environment == [], "\(level)")
    }
  }

  @Test("names by which programs look for a proxy are refused while a kill switch is active, in each domain")
  func discovery() {
    var settings = NameServerSettings(
      shares: [.init(tunnel: "corp", servers: [], domains: [Sample.domain("corp.example")])], searchDomains: [Sample.domain("home.example")]
    )
    #expect(settings.discoveryNames == [])
    settings.refusesDiscovery = true
    #expect(settings.discoveryNames.map(\.text) == ["wpad", "wpad.home.example", "wpad.corp.example"])
    #expect("\(settings)".contains("refuse wpad"))
  }

  @Test("a plan serves the script after everything else, and no program keeps the address of a script that nothing serves")
  func plans() {
    var desired = DesiredState()
    desired.proxies = ProxyPublication(.direct, for: [.chromium, .firefox])
    var observed = ObservedState()
    func plan() -> [String] { Plan(from: observed, to: desired).steps.map(\.description) }
    let url = "http://127.82.0.80:82/proxy.pac"
    #expect(plan() == ["roamward-proxy at \(url): no proxy; published to chromium, firefox"])
    observed.proxies.obstacles = [.firefox: "its file is another program's"]
    observed.proxies.publish(ProxyPublication(.direct, for: [.chromium, .firefox]))
    #expect(plan() == [])
    #expect(
      Plan(from: observed, to: desired).conflicts.map(\.description) == [
        "proxies are not published to firefox: its file is another program's"
      ])
    observed.proxies.server = .elsewhere
    #expect(plan() == [])
    observed.proxies.server = .absent
    #expect(plan().count == 1)
    observed.proxies.server = .unavailable(reason: "port 82 is taken")
    #expect(plan() == ["roamward-proxy: end, with the files that name its address"])
    desired.proxies = nil
    observed.proxies = ObservedProxies()
    #expect(plan() == [])
    observed.proxies.remains = [.dconf]
    #expect(plan() == ["roamward-proxy: end, with the files that name its address"])
  }

  @Test("a script behind a URL is fetched by the tunnel's link alone: without one, there is no proxy, with a note")
  func withoutLink() {
    func published(_ interface: String?) -> (ProxyScript?, String) {
      var policy = Sample.tunnel("corp", rules: [])
      policy.provider = .command(CommandProviderConfiguration(up: ["up"], down: [], interface: interface))
      policy.proxy = ProxyPolicy(pac: "http://10.0.0.80/proxy.pac")
      policy.proxy?.publish = [.chromium]
      let setup = TunnelSetup(policy: policy, level: .full, slot: 3, link: policy.linkName, device: .foreign)
      return (
        DesiredState(of: [setup], on: UnderlayFit(NetworkSnapshot())).proxies?.script, policy.unsupportedKeys.joined(separator: " ")
      )
    }
    let (bound, words) = published("ppp0")
    if case .fetched(let source, tunnel: "corp")? = bound { #expect(source.link == "ppp0") } else { Issue.record("\(bound as Any)") }
    #expect(words.isEmpty)
    let (script, note) = published(nil)
    #expect(script == .direct && note.contains("`pac` is not acted on: the tunnel names no `interface`"))
  }

  @Test("a script's host with a name needs name servers of the tunnel")
  func lookup() {
    func obstacle(_ url: String, _ servers: String...) -> String? {
      ScriptSource(url: url, link: "corp", servers: servers.compactMap { IPAddress($0) }).obstacle
    }
    #expect(obstacle("http://proxy.corp.example/x")?.contains("cure: add `dns: servers`") == true)
    #expect(obstacle("http://proxy.corp.example/x", "10.0.0.53") == nil)
    #expect(obstacle("http://10.0.0.80/x") == nil && obstacle("http://[2001:db8::1]/x") == nil)
  }

  @Test("the use of no proxy waits for no other tunnel's step; the use of one waits for all before it")
  func failedSteps() {
    let failed = Step.setMTU(link: "home", mtu: 1400, was: 1420)
    let direct = Step.setProxies(ProxyPublication(.direct, for: [.chromium]))
    let used = Step.setProxies(ProxyPublication(.rules(Self.rules(), tunnel: "corp"), for: [.chromium]))
    #expect(failed.stage < direct.stage && !direct.builds(on: failed) && used.builds(on: failed))
  }
}
