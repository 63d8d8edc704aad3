import RoamwardCore
import Testing

@testable import PolicySource

/// Policies with an error, and the first line of its message. `@` in the policy marks the place; it is taken out.
private let cases: [(policy: String, said: String)] =
  languageCases + [
    ("@tunnels: {}", "`version` is missing in a policy|`version` is missing"),
    ("version: @2", "expected a version that is known, which is 1 alone, found \"2\""),
    ("version: @[1]", "expected a version that is known, which is 1 alone, found a list"),
    ("version:@", "expected a version that is known, which is 1 alone, found nothing"),
    ("@- version: 1", "expected the keys of a policy, found a list"),
    ("@hello", "expected the keys of a policy, found \"hello\""),
    ("version: 1\n@tunels: {}", "unknown key \"tunels\" in a policy"),
    ("version: 1\nversion: 1", "\"version\" is given twice; the first is at /etc/p/10.yaml:1:1"),
    ("version: 1\nnetworks:\n  a: { ssid: x }\n  @a: { ssid: y }", "\"a\" is given twice; the first is at /etc/p/10.yaml:3:3"),
    ("version: 1\nnetworks: @[a]", "expected networks by name, found a list"),
    ("version: 1\nnetworks: { a: { ssid: @&x Home } }", "anchors and aliases are not allowed"),
    ("version: 1\nnetworks: { a: { ssid: @*x } }", "anchors and aliases are not allowed"),
    ("version: 1\nnetworks: { a: { ssid: @!!str no } }", "tags are not allowed"),
    ("version: 1\nnetworks: { a: { ssid: @! no } }", "tags are not allowed"),
    ("version: 1\n? @[a]\n: b", "a key has to be a word, not a list"),
    ("version: 1\n@---\nversion: 1", "a second document begins here"),
    ("version: 1\nnetworks: { a: { ssid: @\"a\\0b\" } }", "this text holds a control character"),
    ("version: 1\nnetworks: { a: { ssid: @\"\" } }", "expected an SSID of 1 to 32 bytes, found \"\""),
    ("version: 1\nnetworks: { a: { ssid: @hex:0 } }", "expected an SSID of 1 to 32 bytes, found \"hex:0\""),
    ("version: 1\nnetworks: { a: { ssid: [Home, @~] } }", "expected an SSID of 1 to 32 bytes, found nothing"),
    (
      "version: 1\nnetworks: { a: { interface: @wi-fi } }",
      "expected ethernet, wifi, cellular, usb-tether, bluetooth, bridge, virtual or other, found \"wi-fi\""
    ),
    (
      "version: 1\nnetworks: { a: { dns-domain: @münchen.example } }",
      "expected a domain name such as corp.example, or *, found \"münchen.example\""
    ),
    (
      "version: 1\nnetworks: { a: { dns-server: @17.0.* .1 } }",
      "expected an address, a prefix, or a start such as 17.*, found \"17.0.* .1\""
    ),
    ("version: 1\nnetworks: { a: { dns-server: { @each: [1.1.1.1] } } }", "unknown key \"each\" in `dns-server`"),
    ("version: 1\nnetworks: { a: { not: @[ { ssid: a } ] } }", "expected the criteria of `not`, found a list"),
    ("version: 1\nnetworks: { a: { any-of: [ @x ] } }", "expected the criteria of an entry of `any-of`, found \"x\""),
    (
      "version: 1\nnetworks: { a: { subnet: @192.168.0.0/33 } }",
      "expected an address or prefix such as 10.0.0.0/8 or fd00::/8, found \"192.168.0.0/33\""
    ),
    ("version: 1\nnetworks: { a: { network: @b } }", "there is no network \"b\""),
    ("version: 1\nnetworks: { @a: { network: a } }", "network `a` names itself: a → a"),
    (
      "version: 1\nnetworks: { @a: { network: b }, b: { not: { network: c } }, c: { any-of: [ { network: a } ] } }",
      "network `a` names itself: a → b → c → a"
    ),
    ("version: 1\ntunnels: { t: @{} }", "`provider` is missing in a tunnel"),
    (
      "version: 1\ntunnels: { a: { provider: { command: { up: a, down: b } }, through: @c } }",
      "there is no tunnel \"c\""
    ),
    (
      "version: 1\ntunnels: { a: { provider: { command: { up: a, down: b } }, through: @a } }",
      "tunnel `a` goes through itself: a → a"
    ),
    (
      """
      version: 1
      tunnels:
        a: { provider: { command: { up: a, down: b, interface: t0 } }, through: @b }
        b: { provider: { command: { up: a, down: b, interface: t1 } }, through: c }
        c: { provider: { command: { up: a, down: b, interface: t2 } }, through: a }
      """,
      "tunnel `a` goes through itself: a → b → c → a"
    ),
    (
      """
      version: 1
      tunnels:
        a: { provider: { command: { up: a, down: b } }, through: @b }
        b: { provider: { command: { up: a, down: b, interface: t1 } }, through: c }
        c: { provider: { command: { up: a, down: b, interface: t2 } }, through: b }
      """,
      "`b` goes through itself"
    ),
    (
      """
      version: 1
      tunnels:
        a: { provider: { command: { up: a, down: b } }, through: @b }
        b: { provider: { command: { up: a, down: b, interface: t1 } }, through: c }
        c: { provider: { command: { up: a, down: b, interface: t2 } }, through: d }
        d: { provider: { command: { up: a, down: b, interface: t3 } }, through: e }
        e: { provider: { command: { up: a, down: b, interface: t4 } }, through: f }
        f: { provider: { command: { up: a, down: b, interface: t5 } } }
      """,
      "more than 4 tunnels are inside one another"
    ),
    (
      "version: 1\ntunnels: { b: { provider: { command: { up: a, down: b } } }, a: { provider: { command: { up: a, down: b } }, through: @b } }",
      "tunnel `b` has no link to go through"
    ),
    (
      """
      version: 1
      tunnels:
        b: { class: enterprise, provider: { command: { up: a, down: b, interface: tun0 } } }
        a: { class: enterprise, provider: { command: { up: a, down: b } }, through: @b }
      """,
      "both `a` and `b` are enterprise tunnels, and only one of those runs at a time"
    ),
    ("version: 1\ntunnels: { t: { provider: @{} } }", "the provider is missing"),
    ("version: 1\ntunnels: { t: { provider: { @openvpn: {} } } }", "`openvpn` is not supported by this version"),
    (
      "version: 1\ntunnels: { t: { provider: { wireguard: { config: corp.conf }, @command: { up: a, down: b } } } }",
      "a tunnel has exactly one provider, but there are two"
    ),
    (
      "version: 1\ntunnels: { t: { provider: { wireguard: { config: @none.conf } } } }",
      "/etc/p/none.conf cannot be used: No such file or directory"
    ),
    (
      "version: 1\ntunnels: { t: { provider: { command: { up: @'sh -c \"x\"', down: b } } } }",
      "no shell reads this, so `\"` would have no meaning: a command in one line is split at spaces only"
    ),
    ("version: 1\ntunnels: { t: { provider: { command: { up: @[], down: b } } } }", "expected a program and its arguments, found a list"),
    ("version: 1\ntunnels: { t: { provider: { command: @{ up: a } } } }", "`down` is missing in the `command` provider"),
    (
      "version: 1\ntunnels: { t: { provider: { unit: { name: @work } } } }",
      "expected a unit's name with `.service` or `.target`, found \"work\""
    ),
    (
      "version: 1\ntunnels: { t: { provider: { unit: { name: w.service } }, @kill-switch: 'on' } }",
      "a kill switch needs the tunnel's link: nothing else may carry packets while it is up"
    ),
    (
      "version: 1\ntunnels: { t: { provider: { unit: { name: w.target, interface: tun0 } }, @kill-switch: 'on' } }",
      "w.target has no processes whose packets could be marked, so `kill-switch` would block them too"
    ),
    (
      "version: 1\ntunnels: { t: { provider: { unit: { name: w.target } }, @include-all-networks: true } }",
      "w.target has no processes whose packets could be marked, so `include-all-networks` would block them too"
    ),
    (
      "version: 1\ntunnels: { t: { provider: { unit: { name: w.target, interface: tun0 } }, @routes: { include: [default] } } }",
      "w.target has no processes whose packets could be marked, so a tunnel for everything would take them too"
    ),
    (
      "version: 1\ntunnels: { b: { provider: { command: { up: a, down: b, interface: t0 } } }, t: { provider: { unit: { name: w.target } }, @through: b } }",
      "w.target has no processes whose packets could be marked, so none would go through another tunnel"
    ),
    (
      "version: 1\ntunnels: { t: { provider: { networkmanager: { profile: Work } }, @include-all-networks: true } }",
      "the packets of NetworkManager's VPN programs cannot be told from others, so `include-all-networks` would block them too"
    ),
    (
      "version: 1\ntunnels: { t: { provider: { networkmanager: { profile: Work } }, @dns: { servers: [10.0.0.53] } } }",
      "NetworkManager sets this of its profiles, so `dns` cannot be acted on"
    ),
    (
      "version: 1\ntunnels: { b: { provider: { command: { up: a, down: b, interface: t0 } } }, t: { provider: { networkmanager: { profile: W } }, @through: b } }",
      "NetworkManager alone decides how the packets of its profiles leave"
    ),
    (
      "version: 1\ntunnels: { t: { provider: { tailscale: {} }, @kill-switch: always } }",
      "tailscaled has marks and routes of its own, so `kill-switch` would block them too"
    ),
    (
      "version: 1\ntunnels: { t: { provider: { tailscale: { exit-node: @home } } } }",
      "expected an IP address such as 192.0.2.1 or 2001:db8::1, found \"home\""
    ),
    (
      "version: 1\ntunnels: { t: { provider: { command: { up: a, down: b, interface: @a/b } } } }",
      "expected a link name of 1 to 15 characters, such as tun0, found \"a/b\""
    ),
    (
      "version: 1\ntunnels: { t: { provider: { command: { up: a, down: b } }, mtu: @65536 } }",
      "expected a number from 576 to 65535, found \"65536\""
    ),
    (
      "version: 1\ntunnels: { t: { provider: { command: { up: a, down: b } }, on-demand: { rules: @{ action: connect } } } }",
      "expected a list of rules, found a mapping"
    ),
    (
      "version: 1\ntunnels: { t: { provider: { command: { up: a, down: b } }, routes: { include: [@any] } } }",
      "expected a prefix such as 10.0.0.0/8, or `default`, found \"any\""
    ),
    ("version: 1\ntunnels:\n  t:\n    provider: { command: { up: [/u", "not valid YAML: did not find expected ',' or ']'"),
  ]

@Suite struct PolicyErrorTests {
  @Test("each mistake is told where it is", arguments: cases)
  func mistake(policy: String, said: String) throws {
    let place = policy.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).first
    let loaded = load(policy.replacing("@", with: ""))
    let first = try #require(loaded.diagnostics.first { $0.severity == .error })
    #expect(said.split(separator: "|").map(String.init).contains(first.message), "\(loaded.report)")
    if let place, policy.contains("@") {
      let lines = place.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(
        first.location.line == lines.count && first.location.column == (lines.last?.unicodeScalars.count ?? 0) + 1, "\(loaded.report)")
    }
    #expect(loaded.hasErrors)
  }

  @Test(
    "a service unit may have what the mark of its sockets makes possible",
    arguments: [
      "kill-switch: 'on', routes: { include: [default] }", "include-all-networks: true", "routes: { include: [default], enforce: true }",
      "through: b, routes: { include: [10.0.0.0/8] }",
    ])
  func unitMay(settings: String) {
    let loaded = load(
      "version: 1\ntunnels: { b: { provider: { command: { up: a, down: b, interface: t0 } } }, "
        + "t: { provider: { unit: { name: vpn@w.service, interface: tun0 } }, \(settings) } }")
    #expect(!loaded.hasErrors, "\(loaded.report)")
    #expect(loaded.policies.tunnel(named: "t")?.limitations == [])
  }

  @Test("each tunnel of a circle is refused, with the line and column of its `through:`, and the way round") func circle() {
    let loaded = load(
      """
      version: 1
      tunnels:
        a: { provider: { command: { up: a, down: b, interface: t0 } }, through: b }
        b:
          provider: { command: { up: a, down: b, interface: t1 } }
          through: a
        c: { provider: { command: { up: a, down: b, interface: t2 } }, through: a }
        d: { provider: { command: { up: a, down: b, interface: t3 } } }
      """)
    let said = loaded.diagnostics.filter { $0.severity == .error }.map { "\($0.location.line):\($0.location.column) \($0.message)" }
    #expect(
      said == [
        "3:75 tunnel `a` goes through itself: a → b → a", "6:14 tunnel `b` goes through itself: b → a → b", "7:75 `a` goes through itself",
      ])
  }

  @Test("a text that is cut off anywhere never makes a rule that is not in the whole")
  func halfWritten() {
    let whole = Samples.policy
    let rules = Set(load(whole).policies.tunnels.flatMap(\.onDemand.rules).map(\.location))
    for length in stride(from: 0, to: whole.utf8.count, by: 3) {
      let loaded = load(String(decoding: whole.utf8.prefix(length), as: UTF8.self))
      #expect(Set(loaded.policies.tunnels.flatMap(\.onDemand.rules).map(\.location)).isSubset(of: rules))
    }
  }
}
