import KernelModel
import LinuxIO
import NetworkTypes
import OpenVPNProvider
import PolicyFiles
import RoamwardCore
import Testing

@testable import PolicyImport

@Suite struct FormatTests {
  @Test("a profile of an office: every key is accounted for, and the policy says what the profile does") func office() throws {
    let result = try importFile(fixture("trusted-office.mobileconfig"), file: "corp.mobileconfig", options: ImportOptions())
    let tunnel = try result.tunnel()
    #expect(tunnel.name == "corp-office" && !tunnel.isEnabled && tunnel.onDemand.isEnabled)
    #expect(tunnel.onDemand.rules.map(\.action) == [.disconnect, .evaluateConnection, .connect])
    #expect(
      tunnel.onDemand.rules[0].match
        == .all([.dnsServer([try #require(DNSServerPattern("10.0.0.*"))], .each), .probe(Probe(url: "https://beacon.corp.example/"))]))
    #expect(tunnel.onDemand.rules[1].connections.map(\.action) == [.neverConnect, .connectIfNeeded])
    #expect(!result.report.hasErrors)
    try expectEveryKey(result, fixture("trusted-office.mobileconfig"))
    #expect(!result.shownText.contains("not-a-real-secret"))
    let policy = try #require(result.files.last).bytes
    #expect(String(decoding: policy, as: UTF8.self).contains("# Rule 3 was {Action: \"Connect\"}"))
  }

  @Test(
    "the binary form and a signature say the same as the XML",
    arguments: ["trusted-office.bplist", "signed.mobileconfig", "signed-ber.mobileconfig"])
  func forms(file: String) throws {
    let plain = try importFile(fixture("trusted-office.mobileconfig"), file: "f", options: ImportOptions())
    let other = try importFile(fixture(file), file: "f", options: ImportOptions())
    #expect(other.files == plain.files)
    #expect(other.report.entries.map(\.text) == plain.report.entries.map(\.text))
  }

  @Test("a signature that is asked for has to hold") func verification() throws {
    let signed = try fixture("signed.mobileconfig")
    let folder = #filePath.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/Fixtures"
    let trusted = ImportOptions(verify: true, trusted: ["\(folder)/signer.pem"])
    let good = try importFile(signed, file: "f", options: trusted)
    #expect(good.report.signature?.standing == .verified && good.tunnels.count == 1)
    let unknown = try importFile(signed, file: "f", options: ImportOptions(verify: true))
    #expect(unknown.report.signature?.isRefuted == true && unknown.tunnels.isEmpty && unknown.report.hasErrors)
    var forged = signed
    let place = try #require(forged.indices.first { forged[$0...].starts(with: Array("Corp Office".utf8)) })
    forged[place] = UInt8(ascii: "K")
    #expect(try importFile(forged, file: "f", options: trusted).tunnels.isEmpty)
    let plain = try importFile(fixture("trusted-office.mobileconfig"), file: "f.mobileconfig", options: trusted)
    #expect(plain.tunnels.isEmpty && plain.report.hasErrors)
  }

  @Test("a wg-quick file becomes a policy and a copy for root alone, without its hooks") func wireGuard() throws {
    let result = try importFile(Array(Samples.wireGuard.utf8), file: "/tmp/Corp VPN.conf", options: ImportOptions())
    let tunnel = try result.tunnel()
    guard case .wireGuard(let provider) = tunnel.provider else {
      Issue.record("no WireGuard")
      return
    }
    #expect(tunnel.name == "corp-vpn" && tunnel.isEnabled && provider.configuration?.peers.count == 1)
    #expect(result.files.map(\.isSecret) == [true, false])
    #expect(result.says(.plain, "[interface].PostUp no programs are run from a WireGuard file"))
    #expect(!result.shownText.contains(Samples.privateKey) && !result.shownText.contains(Samples.presharedKey))
    #expect(!result.shownText.contains("/usr/bin/logger"))
  }

  @Test("a WireGuard text that cannot be read leaves a tunnel that is off, and no key in the report") func brokenWireGuard() throws {
    let text = "[Interface]\nPrivateKey = \(Samples.privateKey.dropLast(3))\n\(Samples.presharedKey)\n"
    let result = try importFile(Array(text.utf8), file: "x.conf", options: ImportOptions())
    #expect(try !result.tunnel().isEnabled)
    #expect(
      result.report.hasErrors && !result.shownText.contains(Samples.presharedKey)
        && !result.shownText.contains(Samples.privateKey.dropLast(3)))
  }

  @Test("a payload of the WireGuard app") func wireGuardApp() throws {
    let result = try importing(
      profile(
        on([["Action": "Connect"]]).with(["RemoteAddress": "vpn.corp.example", "AuthenticationMethod": "Password"]),
        payload: ["VPNSubType": "com.wireguard.macos", "VendorConfig": ["WgQuickConfig": P(stringLiteral: Samples.wireGuard)]]))
    let tunnel = try result.tunnel()
    #expect(tunnel.isEnabled && tunnel.provider.name == "wireguard" && tunnel.onDemand.rules.count == 1)
  }

  @Test("a payload of the WireGuard app whose names bring it up becomes an armed tunnel") func wireGuardNames() throws {
    func imported(_ text: String, domains: P = ["corp.example"]) throws -> (TunnelPolicy, ImportResult) {
      let names: P = ["Domains": domains, "DomainAction": "ConnectIfNeeded", "RequiredURLStringProbe": "http://0.0.0.0"]
      let result = try importing(
        profile(
          on([["Action": "EvaluateConnection", "ActionParameters": [names]]]),
          payload: ["VPNSubType": "com.wireguard.macos", "VendorConfig": ["WgQuickConfig": P(stringLiteral: text)]]))
      return (try result.tunnel(), result)
    }
    let (tunnel, result) = try imported(Samples.wireGuard)
    #expect(tunnel.onDemand.rules.contains(where: tunnel.arms), "\(tunnel.armingObstacle.map { "\($0)" } ?? "")")
    #expect(tunnel.dns?.matchDomains.map(\.description) == ["corp.example"] && result.says(.warning, "for corp.example alone"))
    // A tunnel that cannot be armed stays as it was.
    let (everything, _) = try imported(Samples.wireGuard.replacing("10.77.0.0/16", with: "0.0.0.0/0"))
    #expect(!everything.onDemand.rules.contains(where: everything.arms) && everything.dns == nil)
    let (allNames, _) = try imported(Samples.wireGuard, domains: ["*"])
    #expect(allNames.dns == nil)
  }

  @Test("an OpenVPN file keeps its keys to itself, and loses what runs programs") func openVPN() throws {
    let result = try importFile(Array(Samples.openVPN.utf8), file: "corp.ovpn", options: ImportOptions(folder: "/etc/roamward/policies"))
    let tunnel = try result.tunnel()
    guard case .command(let command) = tunnel.provider else {
      Issue.record("no command")
      return
    }
    #expect(command.up.prefix(5) == ["/usr/sbin/openvpn", "--cd", "/etc/roamward/policies", "--config", "corp.ovpn"] && tunnel.isEnabled)
    let copy = String(decoding: try #require(result.files.first).bytes, as: UTF8.self)
    #expect(!copy.contains("hook") && !copy.contains("script-security") && copy.contains("not-a-real-secret-2"))
    #expect(!result.shownText.contains("not-a-real-secret"))
  }

  @Test("where the provider of OpenVPN is installed, the policy uses it, unless the file names others") func openVPNProvider() throws {
    var options = ImportOptions()
    options.openVPN = try installed("openvpn")
    let result = try importFile(Array(Samples.openVPN.utf8), file: "corp.ovpn", options: options)
    let policy = String(decoding: try #require(result.files.last).bytes, as: UTF8.self)
    #expect(policy.contains("installed:\n") && policy.contains("name: openvpn\n") && policy.contains("credentials: { config: corp.ovpn }"))
    #expect(policy.contains("tunnels:\n  corp:\n    provider:\n") && !result.report.hasErrors, "\(policy)")
    let login = try importFile(Array("client\nremote vpn.example.com\nauth-user-pass\n".utf8), file: "c.ovpn", options: options)
    #expect(login.shownText.contains("options: { username: NAME }"))
    let other = try importFile(Array("client\nremote vpn.example.com\nca ca.crt\n".utf8), file: "c.ovpn", options: options)
    #expect(other.shownText.contains("openvpn(8), which has to be installed"))
  }

  @Test("an OpenVPN file that would ask for a password is off, and one that names other files") func openVPNObstacles() throws {
    for line in ["auth-user-pass", "ca ca.crt"] {
      let result = try importFile(Array("client\nremote vpn.example.com\n\(line)\n".utf8), file: "c.ovpn", options: ImportOptions())
      #expect(try !result.tunnel().isEnabled, "\(line)")
    }
  }

  @Test("a payload of OpenVPN Connect: options, blocks, and the switch that forbids rules") func openVPNConnect() throws {
    let result = try importing(
      profile(
        on([["Action": "Connect"]]),
        payload: [
          "VPNSubType": "net.openvpn.connect.app",
          "VendorConfig": [
            "remote": "vpn.example.com 1194", "nobind": "NOARGS", "key": "-----BEGIN KEY-----\\nnot-a-real-secret-4\\n-----END KEY-----\\n",
            "vpn-on-demand": "0", "up": "/bin/sh",
          ],
        ]))
    let tunnel = try result.tunnel()
    #expect(!tunnel.onDemand.isEnabled && tunnel.onDemand.rules.count == 1)
    let copy = String(decoding: try #require(result.files.first).bytes, as: UTF8.self)
    #expect(copy.contains("\nnobind\n") && copy.contains("<key>\n-----BEGIN KEY-----\nnot-a-real-secret-4\n-----END KEY-----\n</key>\n"))
    #expect(!copy.contains("/bin/sh") && !result.shownText.contains("not-a-real-secret"))
  }

  @Test("WireGuard of NetworkManager becomes a tunnel of our own") func networkManagerWireGuard() throws {
    let result = try importFile(Array(Samples.nmWireGuard.utf8), file: "corp.nmconnection", options: ImportOptions())
    let tunnel = try result.tunnel()
    guard case .wireGuard(let provider) = tunnel.provider else {
      Issue.record("\(result.report.text)")
      return
    }
    let configuration = try #require(provider.configuration)
    #expect(tunnel.name == "corp" && tunnel.isEnabled && configuration.listenPort == 51820)
    #expect(configuration.addresses.map(\.description) == ["10.77.3.2/32"] && configuration.dnsServers.count == 1)
    #expect(configuration.searchDomains.map(\.text) == ["corp.example"])
    #expect(configuration.peers.first?.allowedIPs.map(\.description) == ["10.77.0.0/16", "fd77::/48"])
    #expect(configuration.peers.first?.presharedKey != nil && configuration.peers.first?.persistentKeepalive == 25)
    #expect(!result.shownText.contains(Samples.privateKey) && !result.shownText.contains(Samples.presharedKey))
  }

  @Test("other connections stay NetworkManager's, which the policy asks") func networkManagerPlugin() throws {
    let elsewhere = try importFile(Array(Samples.nmPlugin.utf8), file: "corp.nmconnection", options: ImportOptions())
    #expect(try !elsewhere.tunnel().isEnabled)
    let known = try importFile(
      Array(Samples.nmPlugin.utf8), file: "/etc/NetworkManager/system-connections/corp.nmconnection", options: ImportOptions())
    let tunnel = try known.tunnel()
    #expect(tunnel.isEnabled)
    #expect(tunnel.provider == .service(ServiceProviderConfiguration(.profile("00000000-0000-4000-8000-000000000004"))))
    #expect(
      !known.shownText.contains("not-a-real-secret")
        && known.files.allSatisfy { !String(decoding: $0.bytes, as: UTF8.self).contains("not-a-real") })
  }

  @Test("DNS settings keep their rules, in a tunnel that is off") func dnsSettings() throws {
    let payload: P = [
      "PayloadType": "com.apple.dnsSettings.managed", "PayloadDisplayName": "Secure DNS", "OnDemandEnabled": 1, "ProhibitDisablement": true,
      "DNSSettings": ["DNSProtocol": "HTTPS", "ServerURL": "https://dns.example/dns-query"],
      "OnDemandRules": [["Action": "Disconnect", "SSIDMatch": ["Home"]], ["Action": "Connect"]],
    ]
    let tunnel = try importing(profile(payloads: [payload])).tunnel()
    #expect(!tunnel.isEnabled && tunnel.onDemand.rules.map(\.action) == [.disconnect, .connect])
    let ignored = try importing(profile(payloads: [payload.without("OnDemandRules").with(["OnDemandRules": [["Action": "Ignore"]]])]))
    #expect(ignored.says(.error, "no such action"))
  }

  @Test("routes, DNS, proxies and flags of a VPN payload") func settings() throws {
    let result = try importing(
      profile(
        ["IncludeAllNetworks": 1, "ExcludeLocalNetworks": 0, "EnforceRoutes": true, "DisconnectOnSleep": true],
        payload: [
          "IPv4": ["OverridePrimary": 1],
          "DNS": ["ServerAddresses": ["10.0.0.53"], "SearchDomains": ["corp.example"], "SupplementalMatchDomains": ["", "corp.example"]],
          "Proxies": ["ProxyAutoConfigEnable": 1, "ProxyAutoConfigURLString": "http://10.0.0.80/proxy.pac"],
        ]))
    let tunnel = try result.tunnel()
    #expect(tunnel.routes?.include.map(\.description) == ["0.0.0.0/0", "::/0"])
    #expect(tunnel.routes?.lan == .block && tunnel.routes?.isEnforced == true)
    #expect(!tunnel.includesAllNetworks && result.says(.warning, "IncludeAllNetworks has become routes"))
    #expect(tunnel.dns?.matchDomains.map(\.description) == ["*", "corp.example"] && tunnel.dns?.servers.count == 1)
    #expect(tunnel.proxy?.pac == "http://10.0.0.80/proxy.pac")
    #expect(tunnel.disconnectsOnSleep)
  }

  @Test("a script decides alone, without the exceptions beside it") func scriptWithExceptions() throws {
    let result = try importing(
      profile(
        [:],
        payload: [
          "Proxies": [
            "ProxyAutoConfigEnable": 1, "ProxyAutoConfigURLString": "http://10.0.0.80/proxy.pac", "ExcludeSimpleHostnames": true,
          ]
        ]))
    let proxy = try #require(try result.tunnel().proxy)
    #expect(proxy.pac == "http://10.0.0.80/proxy.pac" && !proxy.excludesSimpleNames && !proxy.publish.isEmpty)
    #expect(result.says(.warning, "the script decides, so the other proxies and their exceptions are left out"))
  }

  @Test(
    "Apple's wildcards of name servers are prefixes",
    arguments: [("17.*", 1), ("10.1*", 111), ("10.0.0.5*", 11), ("2001:db8:*", 1), ("*", 2), ("10.0.0.53", 1)])
  func wildcards(text: String, count: Int) throws {
    let patterns = try #require(serverPatterns(text))
    #expect(patterns.count == count)
    for address in ["10.1.0.1", "10.100.0.1", "10.2.0.1", "17.9.9.9", "10.0.0.53", "10.0.0.153"] {
      let address = try #require(IPAddress(address))
      let isMeant = text.hasSuffix("*") ? address.description.hasPrefix(text.dropLast()) : address.description == text
      #expect(patterns.contains { $0.prefix.contains(address) } == isMeant, "\(address) in \(text)")
    }
  }

  @Test("what cannot be a wildcard", arguments: ["", "10.0.0.0/8", "fe80::*", "10.999*", "1.2.3.4.*", "a*", "10..*"])
  func noWildcards(text: String) { #expect(serverPatterns(text)?.isEmpty ?? true) }

  @Test("nothing of value is a failure that says why", arguments: ["", "hello", "<html/>", "{}", "bplist00", "0\u{6}\u{9}*"])
  func failures(text: String) throws {
    do throws(ImportFailure) {
      let result = try importFile(Array(text.utf8), file: "x", options: ImportOptions())
      #expect(result.report.hasErrors && result.tunnels.isEmpty)
    } catch {
      #expect(!error.message.isEmpty)
    }
  }

  @Test("entities, deep nesting and shared objects are refused at once") func bombs() throws {
    let entities = "<?xml version=\"1.0\"?><!DOCTYPE plist [<!ENTITY a \"aaaa\">]><plist><string>&a;</string></plist>"
    let deep = "<plist>" + String(repeating: "<array>", count: 1_000_000)
    var shared: [UInt8] = Array("bplist00".utf8)
    let offsets = (0..<10).map { i -> UInt8 in
      defer { shared += i == 9 ? [0x51, 0x61] : [0xaa] + Array(repeating: UInt8(i + 1), count: 10) }
      return UInt8(shared.count)
    }
    let table = UInt8(shared.count)
    shared +=
      offsets + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 10] + Array(repeating: 0, count: 8) + [0, 0, 0, 0, 0, 0, 0, table]
    for bytes in [Array(entities.utf8), Array(deep.utf8), shared, Array((String(repeating: "[", count: 100_000)).utf8)] {
      #expect(throws: ImportFailure.self) { try readPropertyList(bytes) }
    }
    #expect(throws: ImportFailure.self) { try readPropertyList(Array(repeating: 32, count: ImportLimits.file + 1)) }
  }
}

/// Every value of the file is in the report, itself or with what holds it.
func expectEveryKey(_ result: ImportResult, _ bytes: [UInt8]) throws {
  let root = try readPropertyList(bytes).root
  let keys = Set(result.report.entries.map(\.key))
  for leaf in Item(property: root, place: .root).leaves {
    let path = leaf.place.text
    let isTold = keys.contains { !$0.isEmpty && (path == $0 || path.hasPrefix($0 + "[") || path.hasPrefix($0 + ".")) }
    if path != "PayloadContent[0].PayloadType" { #expect(isTold, "\(path)") }
  }
}
