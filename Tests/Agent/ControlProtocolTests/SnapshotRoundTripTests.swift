import ControlProtocol
import JSON
import NetworkTypes
import PolicySource
import RoamwardCore
import SeededRandom
import TestKit
import Testing

@Suite struct SnapshotRoundTripTests {
  @Test("5,000 invented snapshots: what is printed reads back to the same facts, and prints the same again")
  func roundTrip() throws {
    var random = SplitMix64(seed: 7)
    for _ in 0..<5_000 {
      let snapshot = random.snapshot()
      for text in [snapshot.json.text(), snapshot.json.text(indented: true)] {
        let (read, diagnostics) = readSnapshot(text: Array(text.utf8), file: "saved.json")
        let back = try #require(read, "\(diagnostics.map { $0.rendered() }) \(text)")
        #expect(diagnostics == [] && back.withoutReasons == snapshot.withoutReasons, "\(text)")
        #expect(back.json == snapshot.json)
      }
    }
  }

  @Test(
    "each fact of the table: its example is read, printed, and read back",
    arguments: FactTable.ofLinks + FactTable.ofNetwork + FactTable.ofHost)
  func example(of fact: FactDeclaration) throws {
    let member = "\(fact.key): \(fact.example)"
    let text = "version: 1\nlinks: { wlan0: { \(fact.isOfLink ? member : "mtu: 1400") } }\n" + (fact.isOfLink ? "" : member + "\n")
    let (read, problems) = readSnapshot(text: Array(text.utf8), file: "example")
    let snapshot = try #require(read, "\(problems.map { $0.rendered() })")
    let (again, _) = readSnapshot(text: Array(snapshot.json.text().utf8), file: "saved.json")
    let back = try #require(again)
    let silent = NetworkSnapshot(primary: "wlan0", links: [LinkFacts(name: "wlan0")])
    #expect(back.value(of: fact, link: 0) == snapshot.value(of: fact, link: 0))
    #expect(snapshot.value(of: fact, link: 0) != silent.value(of: fact, link: 0), "the example is what silence means")
  }

  @Test("a fact that no source can give is decided alike live and saved: at once") func unavailable() throws {
    var link = LinkFacts(name: "wlan0", type: .known(.wifi))
    link.metered = .unknown(reason: "nobody tells")
    link.unavailable = [.metered]
    var live = NetworkSnapshot(primary: "wlan0", links: [link], captivePortal: .unknown(reason: "nobody tells"))
    live.unavailable = [.captivePortal]
    #expect(
      live.json.text()
        == #"{"version":1,"primary":"wlan0","links":{"wlan0":{"type":"wifi","mtu":1500,"unavailable":["metered"]}},"captive-portal":"unavailable"}"#
    )
    let saved = try #require(readSnapshot(text: Array(live.json.text().utf8), file: "saved.json").snapshot)
    var set = NetworkSnapshot(primary: "wlan0", links: [LinkFacts(name: "wlan0", type: .known(.wifi))])
    #expect(applySettings(["metered=unavailable()", "captive-portal=unavailable()"], to: &set).isEmpty)
    let rules = [Sample.rule(.any([.captivePortal(true), .metered(true)]), .ignore), Sample.rule(.always, .connect)]
    for snapshot in [live, saved, set] {
      let decision = Evaluator(networks: []).decide(Sample.tunnel(rules: rules), on: snapshot)
      #expect(decision.outcome == .connect && decision.rule?.index == 2)
    }
    #expect(applySettings(["metered=unknown()"], to: &set).isEmpty)
    #expect(Evaluator(networks: []).decide(Sample.tunnel(rules: rules), on: set).outcome == .pending)
  }

  @Test("every fact is printed")
  func everything() {
    var link = LinkFacts(name: "wlan0", type: .known(.wifi))
    link.bssid = .known(MACAddress("02:00:5e:00:00:07"))
    link.wifiSecurity = .known(.wpa2)
    link.metered = .known(true)
    var snapshot = NetworkSnapshot(primary: "wlan0", links: [link])
    snapshot.captivePortal = .known(true)
    snapshot.internet = .unknown(reason: "x")
    snapshot.probes = ["https://b.example/": .known(true), "https://a.example/": .unknown(reason: "x")]
    snapshot.otherProbes = .unknown(reason: "x")
    snapshot.time = .known(LocalTime(day: .mon, second: 34_205))
    snapshot.users = .known(Sample.users("alice", "bob"))
    snapshot.power = .known(.battery)
    #expect(
      snapshot.json.text()
        == #"{"version":1,"primary":"wlan0","links":{"wlan0":{"type":"wifi","bssid":"02:00:5e:00:00:07","wifi-security":"wpa2","metered":true,"mtu":1500}},"captive-portal":true,"internet":"unknown","probes":{"https://a.example/":"unknown","https://b.example/":"ok"},"other-probes":"unknown","users":["alice","bob"],"time":"mon 09:30:05","power":"battery"}"#
    )
  }
}

extension SplitMix64 {
  fileprivate mutating func fact<T>(_ values: [T]) -> Fact<T> {
    Int.random(in: 0..<4, using: &self) == 0
      ? .unknown(reason: "a reason") : .known(values[Int.random(in: values.indices, using: &self)])
  }

  fileprivate mutating func some<T>(_ values: [T]) -> [T] { values.filter { _ in Bool.random(using: &self) } }

  fileprivate mutating func ssid() -> SSID? {
    let texts = [
      "Home", "no", "null", "0123", "~", " x ", "a: b", "\"", "é", "hex:00", "#", "\u{2028}", "\u{feff}x", "\u{85}", "🇩🇪", "- a",
    ]
    if Bool.random(using: &self) { return SSID(bytes: Array(texts[Int.random(in: texts.indices, using: &self)].utf8)) }
    return SSID(bytes: (0..<Int.random(in: 1...32, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) })
  }

  fileprivate mutating func link(_ name: String) -> LinkFacts {
    LinkFacts(
      name: name, type: fact(InterfaceType.allCases), ssid: fact([nil, ssid(), ssid()]),
      bssid: fact([nil, MACAddress("02:00:5e:00:00:07")]), wifiSecurity: fact([nil] + WiFiSecurity.allCases),
      metered: fact([true, false]),
      addresses: some(["192.0.2.23/24", "2001:db8::23/64", "fe80::1/64"]).compactMap { InterfaceAddress($0) },
      gateways: some(["192.0.2.1", "2001:db8::1"]).compactMap { IPAddress($0) },
      gatewayMAC: fact([nil, MACAddress("02:00:5e:00:00:01")]),
      dnsServers: fact([some(["10.0.0.53", "::1"]).compactMap { IPAddress($0) }]),
      searchDomains: fact([some(["corp.example", "a_b.example"]).compactMap { DomainName($0) }]),
      mtu: UInt32.random(in: 68...65536, using: &self))
  }

  fileprivate mutating func snapshot() -> NetworkSnapshot {
    let links = some(["wlan0", "eth0", "null", "none", "~", "1", "no"]).map { link($0) }
    let names = links.map { Optional($0.name) } + [nil]
    var snapshot = NetworkSnapshot(primary: names[Int.random(in: names.indices, using: &self)], links: links)
    snapshot.captivePortal = fact([true, false])
    snapshot.internet = fact([true, false])
    for url in some(["https://a.example/", "http://b.example:8080/x?y=z", "https://[2001:db8::1]/"]) {
      snapshot.probes[url] = fact([true, false])
    }
    snapshot.otherProbes = fact([true, false])
    snapshot.time = fact([
      LocalTime(day: Weekday.allCases[Int.random(in: 0..<7, using: &self)], second: Int.random(in: 0..<86_400, using: &self))
    ])
    snapshot.users = fact([some(["alice", "no", "0x1f", "a@corp.example"]).compactMap { UserName($0) }])
    snapshot.power = fact(PowerSource.allCases)
    for declaration in FactTable.ofLinks + FactTable.ofNetwork + FactTable.ofHost {
      for i in declaration.isOfLink ? Array(snapshot.links.indices) : [0] where declaration.kind != nil {
        guard case .unknown = snapshot.value(of: declaration, link: i), Bool.random(using: &self) else { continue }
        snapshot.makeUnavailable(declaration, reason: "no source", link: i)
      }
    }
    return snapshot
  }
}

extension NetworkSnapshot {
  fileprivate var withoutReasons: NetworkSnapshot {
    var copy = self
    copy.captivePortal = captivePortal.withoutReason
    copy.internet = internet.withoutReason
    copy.probes = probes.mapValues(\.withoutReason)
    copy.otherProbes = otherProbes.withoutReason
    copy.time = time.withoutReason
    copy.users = users.withoutReason
    copy.power = power.withoutReason
    copy.links = links.map { link in
      var link = link
      link.type = link.type.withoutReason
      link.ssid = link.ssid.withoutReason
      link.bssid = link.bssid.withoutReason
      link.wifiSecurity = link.wifiSecurity.withoutReason
      link.metered = link.metered.withoutReason
      link.gatewayMAC = link.gatewayMAC.withoutReason
      link.dnsServers = link.dnsServers.withoutReason
      link.searchDomains = link.searchDomains.withoutReason
      return link
    }
    return copy
  }
}

extension Fact {
  fileprivate var withoutReason: Fact { value.map { .known($0) } ?? .unknown(reason: "") }
}
