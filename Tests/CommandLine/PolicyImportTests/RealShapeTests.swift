import NetworkTypes
import PolicyFiles
import RoamwardCore
import Testing

@testable import PolicyImport

/// Shapes that real files have, and that cost a tunnel or its name servers.
@Suite struct RealShapeTests {
  // MARK: NetworkManager

  func keyfile(_ ipv4: String, of sample: String = Samples.nmWireGuard) throws -> ImportResult {
    let text = sample.split(separator: "dns-search=corp.example;\n").joined(separator: ipv4)
    return try importFile(Array(text.utf8), file: "corp.nmconnection", options: ImportOptions())
  }

  @Test(
    "`~` in dns-search keeps names apart, as NetworkManager does",
    arguments: [
      ("dns-search=~corp.example;lab.example;\nnever-default=true\n", ["corp.example", "lab.example"], ["lab.example"]),
      ("dns-search=~corp.example\n", ["corp.example"], []),
      ("dns-search=corp.example;\nnever-default=true\n", ["corp.example"], ["corp.example"]),
      ("dns-search=corp.example;\n", [], ["corp.example"]), ("dns-search=~.;\n", [], []),
      ("dns-search=~.;~corp.example;a.example\n", [], ["a.example"]),
      ("dns-search=~not a name;corp.example\n", [], ["corp.example"]),
    ] as [(String, [String], [String])])
  func searchDomains(keys: String, match: [String], search: [String]) throws {
    let result = try keyfile(keys)
    let tunnel = try result.tunnel()
    #expect(tunnel.isEnabled && tunnel.dnsInForce.servers.map(\.description) == ["10.77.0.1"], "\(result.report.text)")
    #expect(tunnel.dnsInForce.matchDomains.map(\.description) == match)
    #expect(tunnel.dnsInForce.searchDomains.map(\.text) == search)
    if keys.contains("not a name") { #expect(result.says(.warning, "`~not a name` is no domain name")) }
  }

  @Test("match domains without a server are left out, and the tunnel stays on") func noServer() throws {
    let sample = Samples.nmWireGuard.split(separator: "dns=10.77.0.1;\n").joined()
    let result = try keyfile("dns-search=~corp.example;\n", of: sample)
    let tunnel = try result.tunnel()
    #expect(tunnel.isEnabled && tunnel.dns == nil && result.says(.warning, "match domains without a server"))
  }

  @Test("a keyfile of a plug-in without uuid goes by its id, or by the file's name") func noUUID() throws {
    func profile(_ text: String) throws -> String {
      let result = try importFile(
        Array(text.utf8), file: "/etc/NetworkManager/system-connections/My Office.nmconnection", options: ImportOptions())
      guard case .service(let service) = try result.tunnel().provider else { return "" }
      let isOn = try result.tunnel().isEnabled
      #expect(isOn && result.says(.warning, "there is no uuid"))
      return service.service.name
    }
    let withoutUUID = Samples.nmPlugin.split(separator: "uuid=00000000-0000-4000-8000-000000000004\n").joined()
    #expect(try profile(withoutUUID) == "Corp")
    #expect(try profile(withoutUUID.split(separator: "id=Corp\n").joined()) == "My Office")
    #expect(throws: ImportFailure.self) {
      try importFile(
        Array(withoutUUID.split(separator: "id=Corp\n").joined(separator: "uuid=x\n").utf8), file: "x.nmconnection",
        options: ImportOptions())
    }
  }

  // MARK: Apple

  @Test("an exception of macOS's own is written out, and an unusable one costs itself alone") func proxyExceptions() throws {
    let result = try importing(
      profile(
        on([["Action": "Connect"]]),
        payload: [
          "VPNSubType": "com.wireguard.macos", "VendorConfig": ["WgQuickConfig": P(stringLiteral: Samples.wireGuard)],
          "Proxies": [
            "HTTPEnable": 1, "HTTPProxy": "10.0.0.80", "HTTPPort": 3128,
            "ExceptionsList": ["*.local", "169.254/16", "10/8", "corp.example", "not a host!", "1.2.3/40"],
          ],
        ]))
    let tunnel = try result.tunnel()
    #expect(tunnel.isEnabled && tunnel.proxy?.exclude == ["*.local", "169.254.0.0/16", "10.0.0.0/8", "corp.example"])
    #expect(result.says(.warning, "ExceptionsList[4] neither a domain") && result.says(.warning, "ExceptionsList[5] neither a domain"))
  }

  @Test("a per-app VPN is known, and off: it is not for the whole machine") func perApp() throws {
    let payload: P = [
      "PayloadType": "com.apple.vpn.managed.applayer", "PayloadVersion": 1, "UserDefinedName": "Corp", "VPNType": "VPN",
      "VPNSubType": "com.wireguard.ios", "VendorConfig": ["WgQuickConfig": P(stringLiteral: Samples.wireGuard)],
      "VPN": ["OnDemandEnabled": 1, "OnDemandRules": [["Action": "Connect"]]], "SafariDomains": ["corp.example"],
      "AssociatedDomains": ["a.example"], "ExcludedDomains": ["b.example"], "VPNUUID": "00000000-0000-4000-8000-000000000009",
    ]
    let result = try importing(profile(payloads: [payload]))
    let tunnel = try result.tunnel()
    #expect(!tunnel.isEnabled && tunnel.provider.name == "wireguard" && !result.report.hasErrors)
    #expect(result.says(.warning, "it is for some apps and sites alone") && result.says(.warning, "SafariDomains"))
    #expect(!result.report.text.contains("not a key that this importer knows") && !result.report.text.contains("do not know"))
    let named = try importing(profile(payloads: [payload]), options(apps: ["firefox.service", "/usr/bin/curl"]))
    let limited = try named.tunnel()
    #expect(limited.isEnabled && limited.apps?.include.map(\.description) == ["firefox.service", "/usr/bin/curl"])
    #expect(limited.onDemand.rules.map(\.action) == [.connect] && !named.says(.warning, "SafariDomains"))
    let onUse = try importing(
      profile(payloads: [payload.without("VPN").with(["VPN": ["OnDemandMatchAppEnabled": true]])]),
      options(apps: ["firefox.service"]))
    #expect(try onUse.tunnel().onDemand.rules.map(\.action) == [.evaluateConnection], "\(onUse.report.text)")
  }

  @Test("a file for some apps of a phone is off until its programs are named; one that leaves some out says so", arguments: [true, false])
  func phone(isNamed: Bool) throws {
    let text = Samples.wireGuard.replacing("[Peer]", with: "IncludedApplications = com.example.mail, com.example.web\n[Peer]")
    let result = try importWireGuard(Array(text.utf8), file: "corp.conf", options: options(apps: isNamed ? ["a.service"] : []))
    let tunnel = try result.tunnel()
    #expect(tunnel.isEnabled == isNamed && tunnel.isForApps == isNamed && !result.report.hasErrors, "\(result.report.text)")
    #expect(result.says(.warning, "`--app` names programs of this machine"))
    #expect(result.says(.warning, "it is for some apps of a phone alone (IncludedApplications)") == !isNamed)
    let excluding = text.replacing("IncludedApplications", with: "excludedapplications")
    let other = try importWireGuard(Array(excluding.utf8), file: "corp.conf", options: options(apps: []))
    #expect(try other.tunnel().isEnabled && other.says(.warning, "apps of a phone stay outside"))
  }

  @Test("a tunnel for some programs has none of what has no meaning beside that, and look-ups give way to their first packet")
  func limited() throws {
    let rules: P = [
      [
        "Action": "EvaluateConnection", "ActionParameters": [["Domains": ["corp.example"], "DomainAction": "ConnectIfNeeded"]],
      ], ["Action": "Disconnect"],
    ]
    let result = try importing(
      profile(
        on(rules),
        payload: [
          "VPNSubType": "com.wireguard.macos", "VendorConfig": ["WgQuickConfig": P(stringLiteral: Samples.wireGuard)],
        ]), options(apps: ["a.service"]))
    let tunnel = try result.tunnel()
    #expect(tunnel.isForApps && tunnel.onDemand.rules.map(\.action) == [.evaluateConnection, .disconnect])
    #expect(tunnel.onDemand.rules.allSatisfy(\.connections.isEmpty) && tunnel.armingObstacle(of: tunnel.onDemand.rules[0]) == nil)
    #expect(result.says(.warning, "the first packet of a.service starts the tunnel"))
    let never: P = [
      [
        "Action": "EvaluateConnection", "ActionParameters": [["Domains": ["corp.example"], "DomainAction": "NeverConnect"]],
      ]
    ]
    let vendor: KeyValuePairs<String, P> = [
      "VPNSubType": "com.wireguard.macos", "VendorConfig": ["WgQuickConfig": P(stringLiteral: Samples.wireGuard)],
    ]
    let idle = try importing(profile(on(never), payload: vendor), options(apps: ["a.service"]))
    #expect(try idle.tunnel().onDemand.rules.map(\.action) == [.ignore] && idle.says(.warning, "no look-up starts the tunnel"))
    let nameless = try importNetworkManager(
      Array(Samples.nmPlugin.utf8), file: "corp.nmconnection", options: options(apps: ["a.service"]))
    #expect(try !nameless.tunnel().isEnabled && !nameless.tunnel().isForApps && nameless.says(.warning, "its provider names no link"))
  }

  @Test("a VPN of an unknown vendor keeps what the person needs who completes it", arguments: ["applayer", ""]) func vendor(kind: String)
    throws
  {
    let payload: P = [
      "PayloadType": P(stringLiteral: "com.apple.vpn.managed" + (kind.isEmpty ? "" : ".\(kind)")), "PayloadVersion": 1,
      "UserDefinedName": "Monitor", "VPNType": "VPN", "VPNSubType": "com.example.monitor",
      "VPN": [
        "RemoteAddress": "vpn.example", "AuthenticationMethod": "Password", "AuthName": "alice", "AuthPassword": "not-a-real-secret-8",
        "ProviderType": "app-proxy",
      ],
    ]
    let result = try importing(profile(payloads: [payload]))
    let tunnel = try result.tunnel()
    #expect(!tunnel.isEnabled && !result.report.text.contains("not a key that this importer knows"))
    let file = String(decoding: try #require(result.files.first { $0.name.hasSuffix(".yaml") }).bytes, as: UTF8.self)
    for line in [#"VPN.RemoteAddress: "vpn.example""#, #"VPN.AuthenticationMethod: "Password""#, #"VPN.AuthName: "alice""#] {
      #expect(file.contains(line), "\(file)")
    }
    #expect(!file.contains("not-a-real-secret"))
  }

  /// The DNS policy of a WireGuard tunnel without DNS of its own (or with `dns`), whose names in corp.example require servers.
  private func requiredServers(_ servers: P, probe: String? = nil, dns: String = "") throws -> (result: ImportResult, dns: DNSPolicy?) {
    let text = Samples.wireGuard.split(separator: "DNS = 10.77.0.1\n").joined(separator: dns)
    var entry: P = ["Domains": ["corp.example", "*.lab.example"], "DomainAction": "ConnectIfNeeded", "RequiredDNSServers": servers]
    if let probe { entry = entry.with(["RequiredURLStringProbe": P(stringLiteral: probe)]) }
    let other: P = ["Domains": ["other.example"], "DomainAction": "ConnectIfNeeded"]
    let result = try importing(
      profile(
        on([["Action": "EvaluateConnection", "ActionParameters": .value(Property(.array([entry.property, other.property])))]]),
        payload: ["VPNSubType": "com.wireguard.ios", "VendorConfig": ["WgQuickConfig": P(stringLiteral: text)]]))
    return (result, try result.tunnel().dns)
  }

  @Test("a tunnel without name servers has those that its names require, for these names, if they are inside of it")
  func requiredServersAnswer() throws {
    let (result, dns) = try requiredServers(["10.77.0.1", "10.77.0.2"])
    #expect(dns?.servers.map(\.description) == ["10.77.0.1", "10.77.0.2"])
    #expect(dns?.matchDomains.map(\.description) == ["corp.example", "lab.example"] && dns?.searchDomains == [])
    #expect(result.says(.warning, "10.77.0.1, 10.77.0.2 answer for corp.example, lab.example inside the tunnel"))
    let always = try requiredServers(["10.77.0.1"], probe: "http://0.0.0.0/")
    #expect(always.dns?.servers.count == 1 && always.dns?.matchDomains.count == 2)
    let entries = try always.result.tunnel().onDemand.rules.flatMap(\.connections)
    #expect(entries.map(\.action) == [.connectAlways, .connectIfNeeded] && entries.allSatisfy { $0.servers.isEmpty })
    // A public server may be asked from everywhere; the tunnel's own servers know its names.
    #expect(try requiredServers(["192.0.2.53"]).dns == nil)
    #expect(
      try requiredServers(["10.77.0.1"], dns: "DNS = 10.77.0.9\n").result.tunnel().dnsInForce.servers.map(\.description) == ["10.77.0.9"])
  }

  let identity: P = [
    "PayloadType": "com.apple.security.pkcs12", "PayloadUUID": "AAAA", "Password": "not-a-real-secret-7",
    "PayloadContent": .value(Property(.data([1, 2, 3]))),
  ]

  func openVPN(_ vpn: P, _ vendor: P = ["remote": "vpn.corp.example 1194", "dev": "tun"]) -> P {
    vpnPayload(vpn, payload: ["VPNSubType": "net.openvpn.connect.app", "VendorConfig": vendor])
  }

  func configuration(_ result: ImportResult) -> [String] {
    (result.files.first { $0.name.hasSuffix(".ovpn") }?.bytes).map {
      String(decoding: $0, as: UTF8.self).split(separator: "\n").map(String.init)
    } ?? []
  }

  @Test("an identity of the profile is named in the OpenVPN file, with its password") func referenced() throws {
    let vpn: P = ["AuthenticationMethod": "Certificate", "PayloadCertificateUUID": "AAAA"]
    for payloads in [[identity, openVPN(vpn)], [openVPN(vpn), identity]] {
      let result = try importing(profile(payloads: payloads))
      let lines = configuration(result)
      #expect(lines.contains("pkcs12 corp.identity-1.p12") && lines.contains("askpass corp.identity-1.password"), "\(result.report.text)")
      #expect(try result.tunnel().isEnabled && !result.shownText.contains("not-a-real-secret"))
      #expect(
        Set(result.files.filter(\.isSecret).map(\.name)).isSuperset(of: ["corp.identity-1.p12", "corp.identity-1.password", "corp.ovpn"]))
    }
    let only = try importing(profile(payloads: [identity, openVPN(["AuthenticationMethod": "Certificate"])]))
    #expect(configuration(only).contains("pkcs12 corp.identity-1.p12"))
  }

  @Test("for the installed provider the identity is in the file itself, and its password is a credential") func inlined() throws {
    var options = ImportOptions()
    options.openVPN = try installed("openvpn")
    let vpn: P = ["PayloadCertificateUUID": "AAAA"]
    let result = try importing(profile(payloads: [identity, openVPN(vpn)]), options)
    let lines = configuration(result)
    #expect(lines.suffix(3) == ["<pkcs12>", "AQID", "</pkcs12>"], "\(lines)")
    let policy = String(decoding: try #require(result.files.last).bytes, as: UTF8.self)
    #expect(policy.contains("credentials: { config: corp.ovpn, key-password: corp.identity-1.password }"), "\(policy)")
    #expect(result.tunnels.allSatisfy { $0.isEnabled } && !result.shownText.contains("not-a-real-secret"))
    let open = try importing(profile(payloads: [identity.without("Password"), openVPN(vpn)]), options)
    #expect(open.says(.warning, "`key-password`") && !open.tunnels.allSatisfy { $0.isEnabled })
  }

  @Test("an identity that is missing, or its password, leaves the tunnel off") func incompleteIdentity() throws {
    let other = try importing(profile(payloads: [identity, openVPN(["PayloadCertificateUUID": "BBBB"])]))
    #expect(try !other.tunnel().isEnabled && !configuration(other).contains { $0.hasPrefix("pkcs12") })
    let open = try importing(profile(payloads: [identity.without("Password"), openVPN(["PayloadCertificateUUID": "AAAA"])]))
    #expect(try !open.tunnel().isEnabled && configuration(open).contains("pkcs12 corp.identity-1.p12"))
    let own: P = ["remote": "vpn.corp.example 1194", "key": "-----BEGIN-----\\nx\\n-----END-----"]
    let inline = try importing(profile(payloads: [identity, openVPN(["PayloadCertificateUUID": "AAAA"], own)]))
    #expect(try inline.tunnel().isEnabled && !configuration(inline).contains { $0.hasPrefix("pkcs12") })
  }

  @Test(
    "a rule that names nothing starts nothing, and costs nobody the profile",
    arguments: [
      ["Action": "EvaluateConnection"], ["Action": "Allow"], ["Action": "EvaluateConnection", "ActionParameters": []],
    ] as [P])
  func namesNothing(rule: P) throws {
    let result = try importing(profile(on([rule.with(["InterfaceTypeMatch": "WiFi"]), ["Action": "Connect"]])))
    let tunnel = try result.tunnel()
    #expect(tunnel.onDemand.isEnabled && tunnel.onDemand.rules.map(\.action) == [.ignore, .connect])
    #expect(result.says(.warning, "has become `ignore`"))
  }

  @Test("what is behind a `#` in a probe is never sent") func fragment() throws {
    let connections: P = [
      ["Domains": ["corp.example"], "DomainAction": "ConnectIfNeeded", "RequiredURLStringProbe": "https://a.example/x?y#top"]
    ]
    let result = try importing(
      profile(
        on([
          ["Action": "Disconnect", "URLStringProbe": "https://beacon.corp.example#here"],
          ["Action": "EvaluateConnection", "ActionParameters": connections],
        ])))
    let rules = try result.tunnel().onDemand.rules
    #expect(rules.first?.match == .all([.probe(Probe(url: "https://beacon.corp.example/"))]))
    #expect(rules.last?.connections.first?.probe == Probe(url: "https://a.example/x?y"))
    #expect(result.report.entries.count { $0.text.contains("behind the `#`") } == 2)
    let wrong = try importing(profile(on([["Action": "Disconnect", "URLStringProbe": "https://a.example/{x}"], ["Action": "Connect"]])))
    #expect(try !wrong.tunnel().onDemand.isEnabled && wrong.says(.error, "percent-encoded"))
  }

  // MARK: OpenVPN

  @Test("the name servers of an .ovpn become the policy's, on a link whose name is known") func openVPNNames() throws {
    let options = "dhcp-option DNS 10.8.0.1\ndhcp-option DNS6 fd08::1\ndhcp-option DOMAIN corp.example\ndhcp-option WINS 10.8.0.2\n"
    let result = try importFile(Array((Samples.openVPN + options).utf8), file: "office.ovpn", options: ImportOptions())
    let tunnel = try result.tunnel()
    #expect(tunnel.dns?.servers.map(\.description) == ["10.8.0.1", "fd08::1"] && tunnel.dns?.searchDomains.map(\.text) == ["corp.example"])
    #expect(tunnel.dns?.matchDomains == [] && result.says(.warning, "dhcp-option not a name server"))
    guard case .command(let command) = tunnel.provider else { throw SystemFailure() }
    #expect(command.interface == "office" && command.up.suffix(4) == ["--dev", "office", "--dev-type", "tun"])
    #expect(command.status == ["/usr/bin/test", "-e", "/sys/class/net/office"])
    let split = "dev tun7\ndhcp-option DNS 10.8.0.1\ndhcp-option DOMAIN-ROUTE corp.example\n"
    let other = try importFile(Array((Samples.openVPN + split).utf8), file: "office.ovpn", options: ImportOptions()).tunnel()
    guard case .command(let named) = other.provider else { throw SystemFailure() }
    #expect(named.interface == "tun7" && !named.up.contains("--dev") && other.dns?.matchDomains.map(\.description) == ["corp.example"])
    let newer = "dns server 0 address 10.8.0.1\ndns server 0 resolve-domains corp.example\ndns search-domains corp.example\n"
    let third = try importFile(Array((Samples.openVPN + newer).utf8), file: "office.ovpn", options: ImportOptions()).tunnel()
    #expect(third.dns?.servers.map(\.description) == ["10.8.0.1"] && third.dns?.isSplit == true)
    let none = try importFile(Array(Samples.openVPN.utf8), file: "office.ovpn", options: ImportOptions()).tunnel()
    guard case .command(let unnamed) = none.provider else { throw SystemFailure() }
    #expect(unnamed.interface == nil && none.dns == nil)
  }

  // MARK: Output

  @Test("the file that is imported is not replaced: its copy has another name") func sameFolder() throws {
    for (text, name) in [(Samples.wireGuard, "corp.conf"), (Samples.openVPN, "corp.ovpn")] {
      var options = ImportOptions()
      options.taken = [name]
      let result = try importFile(Array(text.utf8), file: name, options: options)
      let copy = name.split(separator: ".").joined(separator: "-2.")
      #expect(result.files.map(\.name) == [copy, "corp.yaml"])
      #expect(try result.tunnel().isEnabled)
    }
  }
}

private struct SystemFailure: Error {}
