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
    #expect(
      diagnostics.map { "\($0.severity) \($0.location.line) \($0.message)" } == [
        "warning 15 `captive-portal` is not used by this version", "warning 16 `internet` is not used by this version",
        "warning 17 `probes` is not used by this version",
      ])
    let wifi = try #require(snapshot?.primaryLink)
    #expect(
      wifi
        == LinkFacts(
          name: "wlan0", type: .known(.wifi), ssid: .known(ssid("Cafe")),
          addresses: [InterfaceAddress("192.0.2.23/24")!, InterfaceAddress("2001:db8::23/64")!],
          gateways: [IPAddress("192.0.2.1")!], gatewayMAC: .known(MACAddress("02:00:5e:00:00:01")),
          dnsServers: .known([IPAddress("192.0.2.1")!]),
          searchDomains: .known([domain("cafe.example")]), mtu: 1400))
    let because = "the snapshot says so"
    #expect(
      snapshot?.links.first
        == LinkFacts(
          name: "eth0", type: .unknown(because: because), ssid: .unknown(because: because), gatewayMAC: .unknown(because: because),
          dnsServers: .unknown(because: because), searchDomains: .unknown(because: because)))
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
        "expected type, ssid, gateway-mac, dns-servers or search-domains, found \"addresses\""
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
    #expect(applySetting("ssid=unknown()", to: &snapshot) == nil && snapshot.primaryLink?.ssid == .unknown(because: "--set says so"))
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
}
