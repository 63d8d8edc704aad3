import NetworkTypes
import RoamwardCore
import Testing

@testable import PolicySource

private let provider = "version: 1\ntunnels: { t: { provider: { command: { up: a, down: b } }, "

private func rule(_ text: String) -> String { provider + "on-demand: { rules: [ { \(text) } ] } } }" }

private let pin = "sha256//MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI="

/// Mistakes in what the whole language knows, for `PolicyErrorTests`. `@` marks the place.
let languageCases: [(policy: String, said: String)] = [
  (rule("action: @evaluate-connection"), "`evaluate-connection` needs `connections`, which say what a look-up does"),
  (rule("action: evaluate-connection, @connections: []"), "`connections` is empty, so a look-up would never do anything"),
  (
    rule("action: connect, @connections: [ { domains: a.example, action: never-connect } ]"),
    "`connections` has no meaning beside `action: connect`"
  ),
  (rule("action: evaluate-connection, connections: @{}"), "expected a list of domains and actions, found a mapping"),
  (
    rule("action: evaluate-connection, connections: [ { domains: a.example, action: never-connect, @dns-servers: 10.0.0.53 } ]"),
    "`dns-servers` has no meaning beside `action: never-connect`"
  ),
  (
    rule("action: evaluate-connection, connections: [ { domains: a.example, action: connect-always, @probe: \"http://a.example/\" } ]"),
    "`probe` has no meaning beside `action: connect-always`"
  ),
  (
    rule("action: evaluate-connection, connections: [ @{ action: connect-always } ]"),
    "`domains` is missing in an entry of `connections`"
  ),
  (
    rule("action: evaluate-connection, connections: [ { @domains: [], action: connect-always } ]"),
    "`domains` is empty, so the entry would never decide"
  ),
  (
    rule("action: evaluate-connection, connections: [ { domains: a.example, action: @connect } ]"),
    "expected connect-if-needed, connect-always or never-connect, found \"connect\""
  ),
  (
    rule("match: { probe: @\"ftp://a.example/\" }, action: connect"),
    "expected an http:// or https:// URL with a host, found \"ftp://a.example/\""
  ),
  (rule("match: { probe: @\"https:///x\" }, action: connect"), "expected an http:// or https:// URL with a host, found \"https:///x\""),
  (rule("match: { probe: @{ status: 200 } }, action: connect"), "`url` is missing in `probe`"),
  (
    rule("match: { probe: { url: \"https://a.example/\", status: @99 } }, action: connect"),
    "expected a number from 100 to 599, found \"99\""
  ),
  (
    rule("match: { probe: { url: \"https://a.example/\", pin: @sha256//abc } }, action: connect"),
    "expected a pin such as \(pin), found \"sha256//abc\""
  ),
  (rule("match: { probe: { url: \"http://a.example/\", @pin: \(pin) } }, action: connect"), "a pin needs https: plain http shows no key"),
  (
    rule("match: { probe: { url: \"http://a.example/\", timeout: @0s } }, action: connect"),
    "expected a duration such as 500ms, 10s, 5m or 2h, longer than nothing, found \"0s\""
  ),
  (
    rule("match: { time: @{ from: \"08:00\", to: \"08:00\" } }, action: connect"),
    "`from` and `to` are the same, so there is no time between them"
  ),
  (rule("match: { time: { from: @\"24:00\" } }, action: connect"), "expected a time from 00:00 to 23:59, found \"24:00\""),
  (rule("match: { time: { to: @\"24:01\" } }, action: connect"), "expected a time from 00:00 to 24:00, found \"24:01\""),
  (rule("match: { time: { to: @8 } }, action: connect"), "expected a time from 00:00 to 24:00, found \"8\""),
  (
    rule("match: { time: { days: [mon, @tuesday] } }, action: connect"),
    "expected a day such as mon, or days such as mon-fri, found \"tuesday\""
  ),
  (
    rule("match: { time: { days: @mon-tue-wed } }, action: connect"),
    "expected a day such as mon, or days such as mon-fri, found \"mon-tue-wed\""
  ),
  (rule("match: { power: @solar }, action: connect"), "expected ac or battery, found \"solar\""),
  (rule("match: { metered: @maybe }, action: connect"), "expected true or false, found \"maybe\""),
  (rule("match: { captive-portal: @[true] }, action: connect"), "expected true or false, found a list"),
  (rule("match: { bssid: @02:00 }, action: connect"), "expected a MAC address such as 02:00:5e:10:00:01, found \"02:00\""),
  (
    rule("match: { wifi-security: @wpa4 }, action: connect"),
    "expected open, owe, wep, wpa, wpa2, wpa3, wpa2-enterprise or wpa3-enterprise, found \"wpa4\""
  ),
  (provider + "mtu: 1400, @overhead: 80 } }", "`overhead` and `mtu` exclude one another"),
  (
    provider + "@kill-switch: on } }",
    "a kill switch needs the tunnel's link: nothing else may carry packets while it is up"
  ),
  (
    provider + "@kill-switch: always } }",
    "a kill switch needs the tunnel's link: nothing else may carry packets while it is up"
  ),
  (provider + "routes: { on-overlap: @x } } }", "expected prefer-local, prefer-tunnel or refuse, found \"x\""),
  (provider + "routes: { lan: @x } } }", "expected allow or block, found \"x\""),
  (provider + "proxy: @{} } }", "`proxy` names no proxy"),
  (
    provider + "proxy: @{ pac: \"http://p.example/x\", http: \"p.example:1\" } } }",
    "`pac` excludes `http`, `https`, `exclude` and `exclude-simple-names`: the script decides"
  ),
  (
    provider + "proxy: @{ pac: \"http://p.example/x\", exclude-simple-names: true } } }",
    "`pac` excludes `http`, `https`, `exclude` and `exclude-simple-names`: the script decides"
  ),
  (provider + "proxy: { pac-file: @none.pac } } }", "/etc/p/none.pac cannot be used: No such file or directory"),
  (
    provider + "proxy: { http: \"p.example:1\", publish: @gnome } } }",
    "expected pac, environment, dconf, chromium, chrome or firefox, found \"gnome\""
  ),
  (
    provider + "proxy: { http: @p.example } } }",
    "expected a proxy such as 10.0.0.80:3128 or http://proxy.corp.example:3128/, found \"p.example\""
  ),
  (
    provider + "proxy: { https: @\"http://[10.0.0.1]:0003128/x?y\" } } }",
    "expected a proxy such as 10.0.0.80:3128 or http://proxy.corp.example:3128/, found \"http://[10.0.0.1]:0003128/x?y\""
  ),
  (
    provider + "on-demand: { timing: { idle: @0s } } } }",
    "expected a duration such as 500ms, 10s, 5m or 2h, longer than nothing, found \"0s\""
  ),
  (provider + "@private-key: x } }", "\"private-key\" looks like a secret, and a policy never holds one"),
  (
    "version: 1\ntunnels: { t: { provider: { wireguard: { config: corp.conf, @PresharedKey: x } } } }",
    "\"PresharedKey\" looks like a secret, and a policy never holds one"
  ),
]

@Suite struct LanguageTests {
  @Test("every key of a match becomes its condition")
  func criteria() throws {
    let mac = try #require(MACAddress("02:00:5e:00:00:07"))
    let cases: [(String, Condition)] = [
      ("ssid-glob: Corp-*", .ssidGlob([Glob("Corp-*")])), ("bssid: 02-00-5E-00-00-07", .bssid([mac])),
      ("gateway-mac: [02:00:5e:00:00:07]", .gatewayMAC([mac])),
      ("wifi-security: [open, wpa2-enterprise]", .wifiSecurity([.open, .wpa2Enterprise])), ("captive-portal: no", .captivePortal(false)),
      ("internet: true", .internet(true)), ("metered: on", .metered(true)), ("power: battery", .power([.battery])),
      ("probe: HTTPS://Beacon.corp.example", .probe(Probe(url: "https://beacon.corp.example/"))),
      (
        "probe: { url: \"https://[2001:db8::1]:8443/x?y=%20\", status: 204, pin: [\(pin), \(pin)], timeout: 500ms }",
        .probe(Probe(url: "https://[2001:db8::1]:8443/x?y=%20", status: 204, pins: [pin, pin], timeout: .milliseconds(500)))
      ),
      (
        "time: { days: [mon-fri, sun], from: \"08:00\", to: \"18:00\" }",
        .time(TimeWindow(days: [.mon, .tue, .wed, .thu, .fri, .sun], from: 480, to: 1080))
      ),
      ("time: { days: sat-mon, from: 22:00, to: 6:00 }", .time(TimeWindow(days: [.sat, .sun, .mon], from: 1320, to: 360))),
      ("time: { from: 8:05 }", .time(TimeWindow(from: 485, to: 1440))), ("time: { to: \"24:00\" }", .time(TimeWindow())),
    ]
    for (text, expected) in cases {
      let (condition, diagnostics) = condition("{ \(text) }")
      #expect(condition == .all([expected]) && diagnostics.allSatisfy { $0.severity == .warning }, "\(text)")
    }
  }

  @Test(
    "what says nothing is not considered", arguments: ["bssid: []", "time: {}", "time:", "probe:", "metered:", "power: []", "probe: {}"])
  func empty(text: String) {
    let (result, diagnostics) = condition("{ \(text) }")
    #expect(
      result == .always && diagnostics.count == 1 && diagnostics[0].severity == .warning && diagnostics[0].message.contains("is empty"))
  }

  @Test("every key of a tunnel becomes its value")
  func tunnel() throws {
    let loaded = load(
      """
      version: 1
      tunnels:
        t:
          provider: { wireguard: { config: corp.conf } }
          on-demand:
            rules:
              - action: evaluate-connection
                connections:
                  - { domains: public.corp.example, action: never-connect }
                  - { domains: ["*.corp.example", "*"], action: connect-if-needed, dns-servers: 10.0.0.53, probe: "https://i.corp.example/" }
            timing: { settle: 500ms, release-delay: 0s, minimum-dwell: 1m, idle: 10m, decide-within: 2s }
          routes: { include: default, lan: block, on-overlap: refuse }
          proxy: { http: "10.0.0.80:3128", https: "http://p.corp.example:3128", exclude: [corp.example, 10.0.0.0/8] }
          overhead: 80
          kill-switch: always
          include-all-networks: true
          disconnect-on-sleep: true
      """)
    #expect(!loaded.hasErrors, "\(loaded.report)")
    let tunnel = try #require(loaded.policies.tunnels.first)
    let connections = tunnel.onDemand.rules[0].connections
    #expect(connections.map(\.action) == [.neverConnect, .connectIfNeeded] && connections.map(\.location.line) == [9, 10])
    #expect(
      connections[1].domains == [.within(domain("corp.example")), .any] && connections[1].probe == Probe(url: "https://i.corp.example/"))
    #expect(connections[1].servers == [try #require(IPAddress("10.0.0.53"))])
    #expect(
      tunnel.onDemand.timing
        == Timing(
          settle: .milliseconds(500), releaseDelay: .zero, minimumDwell: .seconds(60), decideWithin: .seconds(2), idle: .seconds(600)))
    #expect(tunnel.routes == RoutePolicy(include: [.everything(.v4), .everything(.v6)], lan: .block, onOverlap: .refuse))
    #expect(
      tunnel.proxy
        == ProxyPolicy(http: "10.0.0.80:3128", https: "http://p.corp.example:3128/", exclude: ["corp.example", "10.0.0.0/8"]))
    #expect(tunnel.mtu == .overhead(80) && tunnel.killSwitch == .always && tunnel.includesAllNetworks && tunnel.disconnectsOnSleep)
    #expect(
      loaded.diagnostics.map { "\($0.location.line) \($0.message)" } == [
        "13 `proxy` is given to no program: it has no `publish`"
      ])
  }

  @Test("secrets that stand in a policy are never shown")
  func secrets() {
    let key = Samples.privateKey
    let texts = [
      "version: 1\ntunnels: { t: { provider: { wireguard: { config: x, private-key: \(key) } } } }",
      "version: 1\ntunnels: { t: { provider: { wireguard: { config: \"[Interface]\\nPrivateKey = \(key)\\n\" } } } }",
      "version: 1\ntunnels: { t: { provider: { wireguard: { config: |\n  [Interface]\n  PrivateKey = \(key)\n  } } } }",
      "version: 1\ntunnels:\n  t:\n    provider:\n      wireguard:\n        config: |\n          [Interface]\n          PrivateKey = \(key)\n",
      "version: 1\nnetworks: { a: { probe: \"https://me:\(key.prefix(9))@a.example/\" } }",
      "version: 1\ntunnels: { t: { provider: { command: { up: a, down: b } }, password: \(key), proxy: { http: \"http://me:\(key.prefix(9))@p.example:1\" } } }",
    ]
    for text in texts {
      let loaded = load(text)
      #expect(loaded.hasErrors && !loaded.report.contains(String(key.prefix(9))), "\(loaded.report)")
    }
    #expect(maskSecrets("a: { ssid: Home, private-key: abc d }") == "a: { ssid: Home, private-key: ••• • •")
    #expect(maskSecrets("a: { ssid: Home, dns-server: 10.0.0.1 }") == "a: { ssid: Home, dns-server: 10.0.0.1 }")
    #expect(maskSecrets("u: https://me:pw@h.example/x") == "u: https://•••••@h.example/x")
  }

  @Test(
    "URLs have one spelling, or none",
    arguments: [
      ("https://a.example", "https://a.example/"), ("HTTP://A.Example:80/X", "http://a.example:80/X"),
      ("https://a.example?q", "https://a.example/?q"),
      ("https://10.0.0.1/", "https://10.0.0.1/"), ("https://[::1]:443/", "https://[::1]:443/"), ("https://a.example:0/", nil),
      ("https://a.example:70000/", nil), ("https://a.example/#x", nil), ("https://u@a.example/", nil), ("https://a b/", nil),
      ("https://é/", nil),
      ("//a.example/", nil), ("a.example", nil), ("https:a.example", nil), ("https://[::1/", nil), ("https://a..b/", nil), ("", nil),
      (":", nil),
    ] as [(String, String?)])
  func urls(text: String, expected: String?) { #expect(webAddress(text) == expected) }
}
