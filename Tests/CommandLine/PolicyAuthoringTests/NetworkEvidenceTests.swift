import NetworkTypes
import PolicyFiles
import PolicyLint
import PolicySource
import RoamwardCore
import Testing

@testable import PolicyAuthoring

@Suite struct NetworkEvidenceTests {
  private static let gateway = MACAddress("02:00:5e:10:00:01")
  private static let accessPoint = MACAddress("02:00:5e:00:00:07")

  private static func wifi(_ change: (inout LinkFacts) -> Void = { _ in }) -> NetworkSnapshot {
    var link = LinkFacts(
      name: "wlan0", type: .known(.wifi), ssid: .known(SSID("Home")), bssid: .known(accessPoint), wifiSecurity: .known(.wpa2),
      addresses: [IPAddress("192.168.7.23").flatMap { InterfaceAddress($0, prefixLength: 24) }].compactMap(\.self),
      gateways: [IPAddress("192.168.7.1")].compactMap(\.self),
      gatewayMAC: .known(gateway))
    change(&link)
    return NetworkSnapshot(primary: link.name, links: [link])
  }

  @Test("the gateway's hardware address, the SSID and its security prove a Wi-Fi network")
  func strong() throws {
    let here = Self.wifi()
    let evidence = try #require(NetworkEvidence(of: here))
    #expect(evidence.text == #"ssid "Home", wifi-security wpa2 or wpa3, gateway-mac 02:00:5e:10:00:01"#)
    #expect(evidence.weakness == nil && evidence.remark == nil)
    // Each imposter lacks something.
    let imposters = [
      Self.wifi { $0.gatewayMAC = .known(Self.accessPoint) }, Self.wifi { $0.wifiSecurity = .known(.open) },
      Self.wifi { $0.ssid = .known(SSID("Hom")) }, Self.wifi { $0.gatewayMAC = .unknown(reason: "none") }, .unknownNetwork,
    ]
    let network = NamedNetwork(name: "n", condition: evidence.condition, location: SourceLocation(file: "f", line: 1, column: 1))
    let evaluator = Evaluator(networks: [network])
    #expect(evaluator.isOn(anyOf: ["n"], here))
    #expect(evaluator.isOn(anyOf: ["n"], Self.wifi { $0.wifiSecurity = .known(.wpa3) }))
    #expect(imposters.allSatisfy { !evaluator.isOn(anyOf: ["n"], $0) })
  }

  @Test("an open Wi-Fi network is taken with a remark") func openNetwork() throws {
    let open = try #require(NetworkEvidence(of: Self.wifi { $0.wifiSecurity = .known(.open) }))
    #expect(open.weakness == nil && open.remark?.contains("this Wi-Fi network is open") == true)
  }

  @Test("a cable, an access point alone, and what anyone can show")
  func others() throws {
    let cable = try #require(
      NetworkEvidence(
        of: Self.wifi {
          $0.type = .known(.ethernet)
          ($0.ssid, $0.bssid, $0.wifiSecurity) = (.known(nil), .known(nil), .known(nil))
        }))
    #expect(cable.text == "interface ethernet, subnet 192.168.7.0/24, gateway-mac 02:00:5e:10:00:01" && cable.weakness == nil)
    let point = try #require(NetworkEvidence(of: Self.wifi { $0.gatewayMAC = .unknown(reason: "no neighbour entry") }))
    #expect(point.text.hasSuffix("bssid 02:00:5e:00:00:07") && point.weakness == nil && point.remark != nil)
    let weak = Self.wifi {
      $0.gatewayMAC = .unknown(reason: "no neighbour entry")
      $0.bssid = .unknown(reason: "no nl80211")
    }
    #expect(NetworkEvidence(of: weak)?.weakness != nil)
    let pin = "sha256//MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI="
    #expect(NetworkEvidence(of: weak, probe: Probe(url: "https://beacon.corp.example/", pins: [pin]))?.weakness == nil)
    #expect(NetworkEvidence(of: weak, probe: Probe(url: "https://beacon.corp.example/"))?.weakness != nil)
    #expect(NetworkEvidence(ssid: try #require(SSID("Home"))).weakness != nil)
    #expect(NetworkEvidence(of: NetworkSnapshot()) == nil)
  }

  /// The reasoning of `check` agrees with what the commands call weak.
  @Test("check warns of weak evidence, and of no other", arguments: [true, false])
  func lints(isWeak: Bool) throws {
    let snapshot = Self.wifi {
      guard isWeak else { return }
      $0.gatewayMAC = .unknown(reason: "no neighbour entry")
      $0.bssid = .unknown(reason: "no nl80211")
    }
    let evidence = try #require(NetworkEvidence(of: snapshot))
    var file = NetworkText.fresh(path: "/p/trusted-networks.yaml")
    #expect(try file.add(evidence.condition, to: NetworkText.trusted))
    var files = FirstPolicy(tunnel: "vpn", privateKey: key, publicKey: "x").files
    // Of a tunnel that is off nothing is said.
    let lines = String(decoding: files[2].bytes, as: UTF8.self).split(separator: "\n").filter { !$0.contains("enabled: false") }
    files[2].bytes = Array(lines.joined(separator: "\n").utf8)
    let loaded = load(files, replacing: file)
    #expect(!loaded.hasErrors && loaded.policies.tunnels[0].isEnabled, "\(loaded.diagnostics)")
    let kinds = Set(lint(loaded.policies).map(\.kind.rawValue))
    #expect(kinds.contains("weak-evidence") == isWeak && kinds.isSubset(of: ["weak-evidence", "no-peer"]), "\(kinds)")
  }

  @Test("the first policy loads, is off, and knows no network yet")
  func first() {
    let loaded = load(FirstPolicy(tunnel: "vpn", privateKey: key, publicKey: "x").files)
    #expect(!loaded.hasErrors, "\(loaded.diagnostics)")
    #expect(loaded.policies.tunnels.map(\.name) == ["vpn"] && loaded.policies.tunnels.allSatisfy { !$0.isEnabled })
    #expect(loaded.policies.networksToDisconnectOn == [NetworkText.trusted])
    let decision = Evaluator(networks: loaded.policies.networks).decide(loaded.policies.tunnels[0], on: .unknownNetwork)
    #expect(decision.outcome == .connect)
  }
}

/// A test vector of RFC 7748.
private let key = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo="

/// The files as a policy folder.
private func load(_ files: [OutputFile], replacing file: NetworkText? = nil) -> LoadedPolicies {
  var texts = Dictionary(uniqueKeysWithValues: files.map { ("/p/\($0.name)", $0.bytes) })
  if let file { texts[file.path] = Array(file.text.utf8) }
  return loadPolicies(layers: ["/p"], files: .linux.with(texts), requireRootOwnership: true)
}

@Suite struct PolicyListingTests {
  @Test("files in force, masked files, masks and broken files, each with what it defines")
  func lists() {
    let home = "version: 1\nnetworks: { home: { ssid: Home } }\n"
    let lab = "version: 1\ntunnels: { lab: { provider: { command: { up: [/u], down: [/d] } } } }\n"
    let texts = [
      "/usr/p/10-a.yaml": lab, "/etc/p/10-a.yaml": home, "/usr/p/20-b.yaml": lab, "/usr/p/30-c.yaml": home, "/etc/p/30-c.yaml": "",
      "/etc/p/40-d.yaml": "version: 9\n", "/etc/p/notes.txt": "x",
    ]
    let files = PolicyFileSystem.linux.with(texts.mapValues { Array($0.utf8) })
    let listing = PolicyListing(loadPolicies(layers: ["/usr/p", "/etc/p"], files: files, requireRootOwnership: false))
    #expect(
      listing.text == """
        /etc/p/10-a.yaml  network home
        /usr/p/10-a.yaml  masked by /etc/p/10-a.yaml
        /usr/p/20-b.yaml  tunnel lab
        /etc/p/30-c.yaml  empty: masks files of its name
        /usr/p/30-c.yaml  masked by /etc/p/30-c.yaml
        /etc/p/40-d.yaml  errors
          line 1: \(listing.files.last?.errors.first?.dropFirst(8) ?? "")

        """)
    #expect(listing.files.last?.errors.first?.contains("version") == true)
    for word in ["lab", "20-b", "20-b.yaml", "/usr/p/20-b.yaml"] { #expect(listing.paths(of: word) == ["/usr/p/20-b.yaml"], "\(word)") }
    #expect(listing.paths(of: "home") == ["/etc/p/10-a.yaml"] && listing.paths(of: "nosuch").isEmpty && listing.paths(of: "30-c").isEmpty)
  }
}
