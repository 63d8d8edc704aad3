import NetworkTypes
import RoamwardCore
import SeededRandom
import TestKit

/// Policies of a few keys each, whose constants overlap in every way.
struct RandomPolicies {
  var generator: SplitMix64

  static let list = "/etc/trusted.txt"

  /// One value each, drawn from small sets so that rules meet.
  private static let leaves: [[Condition]] = [
    [.interface([.wifi]), .interface([.ethernet]), .interface([.wifi, .cellular])],
    [
      .interfaceName([Glob("wl*")]), .interfaceName([Glob("wlan?")]), .interfaceName([Glob("*0"), Glob("eth*")]),
      .interfaceName([Glob("*")]),
    ],
    [.ssid([Sample.ssid("A")]), .ssid([Sample.ssid("A"), Sample.ssid("BC")]), .ssid([Sample.ssid("B")])],
    [.ssidGlob([Glob("B*")]), .ssidGlob([Glob("?")]), .ssidGlob([Glob("*C")]), .ssidGlob([Glob("*")])],
    [.ssidFile(SSIDFile(path: list, contents: .unreadable(reason: "it is varied")))],
    [.bssid([mac(1)]), .bssid([mac(1), mac(2)])],
    [.gatewayMAC([mac(1)]), .gatewayMAC([mac(2)])],
    [.wifiSecurity([.open]), .wifiSecurity([.open, .wpa2])],
    [
      .dnsDomain([Sample.pattern("a.example")]), .dnsDomain([Sample.pattern("example")]),
      .dnsDomain([Sample.pattern("b.example"), Sample.pattern("x")]), .dnsDomain([.any]),
    ],
    [
      .dnsServer(servers("10.0.0.0/8"), .each), .dnsServer(servers("10.1.*"), .any), .dnsServer(servers("10.1.0.53"), .each),
      .dnsServer(servers("192.0.2.1", "10.1.0.53"), .each), .dnsServer(servers("192.0.2.1"), .any),
      .dnsServer(servers("0.0.0.0/0", "::/0"), .any),
    ],
    [
      .subnet([Sample.prefix("10.0.0.0/8")]), .subnet([Sample.prefix("10.0.0.0/9"), Sample.prefix("10.128.0.0/9")]),
      .subnet([Sample.prefix("192.0.2.0/24")]), .subnet([Sample.prefix("0.0.0.0/0")]), .subnet([Sample.prefix("2001:db8::/32")]),
    ],
    [.gateway([Sample.address("10.0.0.1")]), .gateway([Sample.address("10.0.0.1"), Sample.address("192.0.2.1")])],
    [.probe(Probe(url: "https://a.example/"))], [.probe(Probe(url: "https://b.example/"))],
    [.captivePortal(true), .captivePortal(false)], [.internet(true), .internet(false)], [.metered(true)],
    [
      .time(TimeWindow(days: [.mon, .tue], from: 480, to: 1080)), .time(TimeWindow(from: 1320, to: 360)), .time(TimeWindow(days: [.tue])),
      .time(TimeWindow(from: 0, to: 720)),
    ],
    [.power([.ac]), .power([.battery]), .power([.ac, .battery])],
    [.loggedIn(Sample.users("alice")), .loggedIn(Sample.users("alice", "bob")), .loggedIn(Sample.users("carol"))],
  ]

  private static func mac(_ last: UInt8) -> MACAddress { MACAddress(bytes: [2, 0, 0, 0, 9, last]) ?? mac(0) }

  private static func servers(_ texts: String...) -> [DNSServerPattern] { texts.compactMap(DNSServerPattern.init) }

  /// Up to five rules over three keys, and two networks that they may name.
  mutating func next() -> (rules: [Rule], networks: [NamedNetwork]) {
    let kinds = Array(Self.leaves.shuffled(using: &generator).prefix(3))
    let networks = ["n", "m"].enumerated().map { i, name in
      NamedNetwork(name: name, condition: condition(kinds, depth: 1, networks: i == 0 ? [] : ["n"]), location: Sample.place(100 + i))
    }
    let rules = (1...Int.random(in: 2...5, using: &generator)).map { line in
      let isLast = line == 5 && Bool.random(using: &generator)
      return Rule(
        match: isLast ? .always : condition(kinds, depth: 2, networks: ["n", "m"]), action: Action.allCases[line % 3],
        onUnknown: Int.random(in: 0..<6, using: &generator) == 0 ? UnknownPolicy.allCases.randomElement(using: &generator) : nil,
        location: Sample.place(line))
    }
    return (rules, networks)
  }

  private mutating func condition(_ kinds: [[Condition]], depth: Int, networks: [String]) -> Condition {
    switch Int.random(in: 0..<(depth > 0 ? 9 : 4), using: &generator) {
    case 4, 5: .all(parts(kinds, depth: depth - 1, networks: networks))
    case 6: .any(parts(kinds, depth: depth - 1, networks: networks))
    case 7: .not(condition(kinds, depth: depth - 1, networks: networks))
    case 8: networks.isEmpty ? .always : .network(networks.filter { _ in Bool.random(using: &generator) })
    default: kinds.randomElement(using: &generator)?.randomElement(using: &generator) ?? .always
    }
  }

  private mutating func parts(_ kinds: [[Condition]], depth: Int, networks: [String]) -> [Condition] {
    (0..<Int.random(in: 1...3, using: &generator)).map { _ in condition(kinds, depth: depth, networks: networks) }
  }
}
