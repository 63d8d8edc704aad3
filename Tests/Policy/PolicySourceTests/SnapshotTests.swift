import NetworkTypes
import RoamwardCore
import Testing

@testable import PolicySource

@Suite struct SnapshotTests {
  private func read(_ text: String) -> (snapshot: NetworkSnapshot?, diagnostics: [Diagnostic]) {
    readSnapshot(text: Array(text.utf8), file: "cafe.yaml")
  }

  @Test("the snapshot of the reference becomes these values")
  func reference() throws {
    let (snapshot, diagnostics) = read(
      """
      version: 1
      primary: wlan0
      links:
        wlan0:
          type: wifi
          ssid: Cafe
          bssid: 02:00:5e:00:00:07
          addresses: [192.0.2.23/24, "2001:db8::23/64"]
          gateways: [192.0.2.1]
          gateway-mac: 02:00:5e:00:00:01
          dns-servers: [192.0.2.1]
          search-domains: [cafe.example]
          mtu: 1400
        eth0: { unknown: [type, ssid, gateway-mac, dns-servers, search-domains] }
      captive-portal: false
      internet: true
      probes:
        https://beacon.corp.example/: fail
      """)
    #expect(diagnostics == [])
    #expect(snapshot?.captivePortal == .known(false) && snapshot?.internet == .known(true))
    #expect(snapshot?.probes == ["https://beacon.corp.example/": .known(false)] && snapshot?.otherProbes == .known(false))
    let wifi = try #require(snapshot?.primaryLink)
    #expect(
      wifi
        == LinkFacts(
          name: "wlan0", type: .known(.wifi), ssid: .known(ssid("Cafe")), bssid: .known(MACAddress("02:00:5e:00:00:07")),
          addresses: [InterfaceAddress("192.0.2.23/24")!, InterfaceAddress("2001:db8::23/64")!],
          gateways: [IPAddress("192.0.2.1")!], gatewayMAC: .known(MACAddress("02:00:5e:00:00:01")),
          dnsServers: .known([IPAddress("192.0.2.1")!]),
          searchDomains: .known([domain("cafe.example")]), mtu: 1400))
    let reason = "the snapshot says so"
    #expect(
      snapshot?.links.first
        == LinkFacts(
          name: "eth0", type: .unknown(reason: reason), ssid: .unknown(reason: reason), gatewayMAC: .unknown(reason: reason),
          dnsServers: .unknown(reason: reason), searchDomains: .unknown(reason: reason)))
  }

  @Test(
    "which link is the primary one",
    arguments: [
      ("links: { a: {} }", "a"), ("links: { a: { type: wifi } }\nprimary: a", "a"), ("links: { a: {} }\nprimary: null", nil),
      ("links: { a: {} }\nprimary: none", nil),
      ("links: { a: {} }\nprimary:", nil), ("links: { a: {} }\nprimary: ~", nil), ("links: { none: {} }\nprimary: none", "none"),
      ("links: {}", nil), ("", nil),
      ("links: { a: {}, b: }\nprimary: b", "b"),
    ] as [(String, String?)])
  func primary(text: String, name: String?) throws {
    let (snapshot, diagnostics) = read("version: 1\n" + text)
    #expect(diagnostics == [] && snapshot != nil && snapshot?.primary == name)
  }

  @Test("JSON, with its nulls")
  func json() {
    let (snapshot, diagnostics) = read(
      #"{"version":1,"primary":"e","links":{"e":{"type":"ethernet","ssid":null,"gateway-mac":null,"addresses":[],"mtu":1500}}}"#)
    #expect(diagnostics == [] && snapshot == NetworkSnapshot(primary: "e", links: [LinkFacts(name: "e", type: .known(.ethernet))]))
  }

  @Test(
    "what is wrong with a snapshot",
    arguments: [
      ("", "a snapshot begins with `version: 1`, but there is nothing here"), ("links: {}", "`version` is missing"),
      ("version: 1\nprimary: x\nlinks: { a: {} }", "there is no link \"x\""),
      ("version: 1\nlinks: { a: {}, b: {} }", "`primary` is missing, and there are several links"),
      ("version: 1\nlinks: { \"a b\": {} }", "\"a b\" cannot be the name of a link"),
      ("version: 1\nlinks: { a: { typ: wifi } }", "unknown key \"typ\" in a link"),
      (
        "version: 1\nlinks: { a: { unknown: [addresses] } }",
        "expected type, ssid, bssid, wifi-security, metered, gateway-mac, dns-servers or search-domains, found \"addresses\""
      ),
      ("version: 1\nlinks: { a: { mtu: 1 } }", "expected a number from 68 to 65536, found \"1\""),
    ])
  func wrong(text: String, message: String) {
    let (snapshot, diagnostics) = read(text)
    #expect(snapshot == nil && diagnostics.map(\.message) == [message])
  }

  @Test("invented facts make a link")
  func settings() throws {
    var snapshot = NetworkSnapshot()
    for text in [
      "interface=wifi", "ssid=A=B, C", "dns-domain=a.example,b.example", "dns-domain=c.example", "dns-server=10.0.0.53",
      "subnet=192.168.7.0/24", "gateway=192.168.7.1",
    ] {
      #expect(applySetting(text, to: &snapshot) == nil)
    }
    let expected = LinkFacts(
      name: "link", type: .known(.wifi), ssid: .known(ssid("A=B, C")), addresses: [InterfaceAddress("192.168.7.0/24")!],
      gateways: [IPAddress("192.168.7.1")!],
      dnsServers: .known([IPAddress("10.0.0.53")!]), searchDomains: .known([domain("a.example"), domain("b.example"), domain("c.example")]))
    #expect(snapshot == NetworkSnapshot(primary: "link", links: [expected]))
    #expect(applySetting("interface=ethernet", to: &snapshot) == nil && snapshot.primaryLink?.ssid == expected.ssid)
    #expect(
      applySetting("interface-name=eth7", to: &snapshot) == nil && snapshot.links.map(\.name) == ["eth7"] && snapshot.primary == "eth7")
    #expect(applySetting("ssid=", to: &snapshot) == nil && snapshot.primaryLink?.ssid == .known(nil))
    #expect(applySetting("dns-server=", to: &snapshot) == nil && snapshot.primaryLink?.dnsServers == .known([]))
    #expect(applySetting("ssid=unknown()", to: &snapshot) == nil && snapshot.primaryLink?.ssid == .unknown(reason: "--set says so"))
  }

  @Test(
    "what is said of a radio makes a link Wi-Fi, unless its type is said",
    arguments: [
      (["ssid=Home"], InterfaceType.wifi), (["wifi-security=unknown()"], .wifi), (["ssid=Home", "interface=ethernet"], .ethernet),
      (["interface=other", "bssid=02:00:5e:00:00:07"], .other), (["ssid="], .other), (["metered=yes"], .other),
    ] as [([String], InterfaceType)])
  func radio(texts: [String], type: InterfaceType) {
    var snapshot = NetworkSnapshot()
    #expect(applySettings(texts, to: &snapshot) == [] && snapshot.primaryLink?.type == .known(type))
  }

  @Test(
    "and in a file",
    arguments: [
      ("ssid: Home", InterfaceType.wifi), ("unknown: [bssid]", .wifi), ("type: ethernet, ssid: Home", .ethernet),
      ("type: other, ssid: Home", .other), ("metered: true", .other),
    ] as [(String, InterfaceType)])
  func radioInFile(keys: String, type: InterfaceType) {
    #expect(read("version: 1\nlinks: { a: { \(keys) } }").0?.primaryLink?.type == .known(type))
  }

  @Test("the first setting of a list replaces what the snapshot said, further ones add")
  func settingsOverSnapshot() {
    var snapshot = NetworkSnapshot(
      primary: "b",
      links: [
        LinkFacts(name: "a"), LinkFacts(name: "b", gateways: [IPAddress("192.0.2.1")!], dnsServers: .known([IPAddress("192.0.2.1")!])),
      ])
    #expect(
      applySettings(["dns-server=10.0.0.1", "dns-server=10.0.0.2,10.0.0.3", "address=10.0.0.9/8", "subnet=10.1.0.0/16"], to: &snapshot)
        == [])
    #expect(snapshot.primaryLink?.dnsServers.value?.map(\.description) == ["10.0.0.1", "10.0.0.2", "10.0.0.3"])
    #expect(
      snapshot.primaryLink?.addresses.map(\.description) == ["10.0.0.9/8", "10.1.0.0/16"] && snapshot.primaryLink?.gateways.count == 1)
    #expect(applySettings(["interface-name=a"], to: &snapshot) == [] && snapshot.primary == "a" && snapshot.links.count == 2)
  }

  @Test(
    "what is wrong with a setting",
    arguments: [
      ("wifi", "--set:1:1: error: expected KEY=VALUE\n  wifi\n  ^\n  help: for example: --set interface=wifi"),
      ("sid=x", "--set:1:1: error: unknown key \"sid\"\n  sid=x\n  ^\n  help: did you mean `ssid`?"),
      (
        "interface=wfi",
        "--set:1:11: error: expected ethernet, wifi, cellular, usb-tether, bluetooth, bridge, virtual or other, found \"wfi\"\n  interface=wfi\n            ^\n  help: did you mean `wifi`?"
      ),
      ("dns-server=1.1.1.1, x", "--set:1:20: error: expected an IP address, found \" x\"\n  dns-server=1.1.1.1, x\n                     ^"),
      ("gateway=unknown()", "--set:1:9: error: `gateway` is never unknown\n  gateway=unknown()\n          ^"),
      (
        "interface-name=a/b",
        "--set:1:16: error: expected a link name of 1 to 15 characters, found \"a/b\"\n  interface-name=a/b\n                 ^"
      ),
      ("", "--set:1:1: error: expected KEY=VALUE\n  help: for example: --set interface=wifi"),
    ])
  func wrongSetting(text: String, report: String) {
    var snapshot = NetworkSnapshot()
    #expect(applySetting(text, to: &snapshot)?.rendered() == report && snapshot == NetworkSnapshot())
    #expect(applySettings([text], to: &snapshot).count == 1)
  }

  @Test("every fact of a snapshot file")
  func everyFact() throws {
    let (snapshot, diagnostics) = read(
      """
      version: 1
      links:
        w: { type: wifi, bssid: 02:00:5e:00:00:07, wifi-security: wpa2-enterprise, metered: true }
        e: { unknown: [bssid, wifi-security, metered] }
      primary: w
      captive-portal: unknown
      internet: false
      probes: { HTTPS://Beacon.corp.example: ok, "http://x.example:8080/y": unknown }
      other-probes: unknown
      time: "mon 09:30"
      power: battery
      """)
    #expect(diagnostics == [])
    let said = "the snapshot says so"
    let found = try #require(snapshot)
    #expect(found.captivePortal == .unknown(reason: said) && found.internet == .known(false) && found.power == .known(.battery))
    #expect(found.probes == ["https://beacon.corp.example/": .known(true), "http://x.example:8080/y": .unknown(reason: said)])
    #expect(found.otherProbes == .unknown(reason: said) && found.time == .known(LocalTime(day: .mon, second: 34_200)))
    let link = try #require(found.primaryLink)
    #expect(
      link.bssid == .known(MACAddress("02:00:5e:00:00:07")) && link.wifiSecurity == .known(.wpa2Enterprise) && link.metered == .known(true))
    #expect(
      found.links[0].bssid == .unknown(reason: said) && found.links[0].wifiSecurity == .unknown(reason: said)
        && found.links[0].metered == .unknown(reason: said))
  }

  @Test("every fact can be invented, and unknown")
  func everySetting() {
    var snapshot = NetworkSnapshot()
    let texts = [
      "gateway-mac=02:00:5e:10:00:01", "bssid=02-00-5E-00-00-07", "wifi-security=wpa3", "metered=yes", "captive-portal=true",
      "internet=false", "time=sun 23:59", "power=battery",
    ]
    #expect(applySettings(texts, to: &snapshot) == [])
    let link = LinkFacts(
      name: "link", type: .known(.wifi), bssid: .known(MACAddress("02:00:5e:00:00:07")), wifiSecurity: .known(.wpa3), metered: .known(true),
      gatewayMAC: .known(MACAddress("02:00:5e:10:00:01")))
    #expect(
      snapshot
        == NetworkSnapshot(
          primary: "link", links: [link], captivePortal: .known(true), internet: .known(false),
          time: .known(LocalTime(day: .sun, second: 86_340)), power: .known(.battery)))
    #expect(applySettings(["interface-name=eth1"], to: &snapshot) == [] && snapshot.power == .known(.battery) && snapshot.primary == "eth1")
    let keys = [
      "gateway-mac", "bssid", "wifi-security", "metered", "captive-portal", "internet", "time", "power", "interface", "dns-domain",
    ]
    #expect(applySettings(keys.map { "\($0)=unknown()" }, to: &snapshot) == [])
    #expect(snapshot.power.value == nil && snapshot.time.value == nil && snapshot.primaryLink?.metered.value == nil)
    #expect(snapshot.primaryLink?.gatewayMAC == .unknown(reason: "--set says so"))
    #expect(applySettings(["gateway-mac=", "bssid=", "wifi-security="], to: &snapshot) == [])
    #expect(snapshot.primaryLink?.gatewayMAC == .known(nil) && snapshot.primaryLink?.bssid == .known(nil))
    for text in ["time=monday 1:00", "time=mon 24:00", "power=solar", "metered=maybe", "bssid=02", "wifi-security=wpa4", "internet="] {
      let before = snapshot
      #expect(applySetting(text, to: &snapshot)?.severity == .error && snapshot == before, "\(text)")
    }
  }

  @Test("answers of probes can be assumed")
  func assumptions() {
    // An assumption about a URL holds for every probe of it, whatever an agent has found out about one of them.
    var snapshot = NetworkSnapshot(probes: ["https://a.example/ status=204": .known(false)])
    for text in ["https://a.example=ok", "https://b.example/?q=1=fail", "http://c.example/=unknown"] {
      #expect(applyProbeAssumption(text, to: &snapshot) == nil)
    }
    #expect(
      snapshot.probes == [
        "https://a.example/": .known(true), "https://b.example/?q=1": .known(false),
        "http://c.example/": .unknown(reason: "--assume-probe says so"),
      ])
    #expect(
      applyProbeAssumption("https://a.example/=yes", to: &snapshot)?.rendered() == """
        --assume-probe:1:20: error: expected ok, fail or unknown, found "yes"
          https://a.example/=yes
                             ^
          help: for example: --assume-probe https://beacon.corp.example/=ok
        """)
    for text in ["", "https://a.example/", "ftp://a.example/=ok", "a=ok", "=ok"] {
      #expect(applyProbeAssumption(text, to: &snapshot) != nil && snapshot.probes.count == 3, "\(text)")
    }
  }
}
