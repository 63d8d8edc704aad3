import AgentCore
import Doctor
import KernelModel
import LinuxIO
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import TestSupport
import Testing

@Suite("What is installed on a host")
struct InstalledFilesTests {
  /// RFC 7748 6.1, Alice's keys, in base64.
  private let key = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo="

  private func host(_ files: [String: String]) throws -> (TemporaryFolder, InstalledFiles) {
    let folder = try TemporaryFolder()
    for (name, text) in files {
      let path = "\(folder.path)/\(name)"
      try Folder.make(Folder.parent(of: path), mode: 0o755)
      try TextFile.replace(path, with: Array(text.utf8), mode: 0o600)
    }
    return (folder, InstalledFiles(root: folder.path))
  }

  @Test("drop-ins of networkd count by their names, and those in /etc take the place of others") func dropIns() throws {
    let (folder, files) = try host([
      "etc/systemd/networkd.conf": "main",
      "usr/lib/systemd/networkd.conf.d/20-b.conf": "vendor's b",
      "etc/systemd/networkd.conf.d/20-b.conf": "b",
      "run/systemd/networkd.conf.d/10-a.conf": "a",
      "etc/systemd/networkd.conf.d/30-c.conf~": "an editor's",
    ])
    #expect(files.networkdConfiguration == ["main", "a", "b"])
    withExtendedLifetime(folder) {}
  }

  @Test("tunnels that wg-quick and NetworkManager bring up by themselves are known by their keys") func others() throws {
    let connection = "[connection]\nid=The office\ntype=wireguard\nautoconnect=AUTO\n[wireguard]\nprivate-key=\(key)\n"
    let (folder, files) = try host([
      "etc/systemd/system/multi-user.target.wants/wg-quick@corp.service": "",
      "etc/systemd/system/multi-user.target.wants/wg-quick@gone.service": "",
      "etc/wireguard/corp.conf": "[Interface]\nPrivateKey = \(key)\n",
      "etc/wireguard/idle.conf": "[Interface]\nPrivateKey = \(key)\n",
      "etc/NetworkManager/system-connections/office.nmconnection": connection.replacing("AUTO", with: "true"),
      "etc/NetworkManager/system-connections/by-hand.nmconnection": connection.replacing("AUTO", with: "false"),
      "etc/NetworkManager/system-connections/wifi.nmconnection": "[connection]\ntype=wifi\n",
    ])
    #expect(files.enabledUnits == ["wg-quick@corp.service", "wg-quick@gone.service"])
    #expect(files.quickTunnels.map(\.owner) == [.unit("wg-quick@corp.service")])
    #expect(files.managedTunnels.map(\.owner) == [.connection("The office")])
    // RFC 7748 6.1.
    let publicKey = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
    let hex = files.quickTunnels.first?.publicKey.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(hex == publicKey && files.managedTunnels.first?.publicKey == files.quickTunnels.first?.publicKey)
    withExtendedLifetime(folder) {}
  }

  @Test("browsers that are installed, with the managed policies of each") func browsers() throws {
    let (folder, files) = try host([
      "usr/bin/chromium": "", "usr/bin/firefox-esr": "", "etc/chromium/policies/managed/20-b.json": "{\"DnsOverHttpsMode\": \"off\"}",
      "etc/chromium/policies/managed/10-a.json": "{\"DnsOverHttpsMode\": \"secure\"}",
      "etc/chromium/policies/managed/30-c.json.bak": "{\"DnsOverHttpsMode\": \"secure\"}",
      "etc/opt/chrome/policies/managed/a.json": "{\"DnsOverHttpsMode\": \"secure\"}",
      "etc/firefox/policies/policies.json": "{\"policies\": {\"DNSOverHTTPS\": {\"Enabled\": true}}}",
    ])
    #expect(
      files.browsers == [
        BrowserCondition(program: .chromium, mode: .off), BrowserCondition(program: .firefox, mode: .on(except: [])),
      ])
    withExtendedLifetime(folder) {}
  }

  @Test("managed policies of browsers, as they read them") func browserPolicies() throws {
    func chromium(_ files: String...) -> BrowserCondition.Mode { BrowserCondition.Mode(chromium: files) }
    #expect(chromium() == .automatic && chromium("no JSON") == .automatic && chromium("{}") == .automatic)
    #expect(chromium("{\"HomepageLocation\": \"https://www.example\"}") == .off)
    #expect(chromium("{\"DnsOverHttpsMode\": \"secure\"}") == .on(except: []))
    #expect(chromium("{\"DnsOverHttpsMode\": \"secure\"}", "{\"DnsOverHttpsMode\": \"off\"}") == .off)
    #expect(chromium("{\"DnsOverHttpsMode\": \"automatic\"}") == .automatic && chromium("{\"DnsOverHttpsMode\": 7}") == .off)
    func firefox(_ text: String) -> BrowserCondition.Mode { BrowserCondition.Mode(firefox: text) }
    #expect(firefox("") == .automatic && firefox("[]") == .automatic && firefox("{\"policies\": {}}") == .automatic)
    #expect(firefox("{\"policies\": {\"DNSOverHTTPS\": {\"Enabled\": false}}}") == .off)
    #expect(
      firefox("{\"policies\": {\"DNSOverHTTPS\": {\"Enabled\": true, \"ExcludedDomains\": [\"corp.example\", 7, \"..\"]}}}")
        == .on(except: [try #require(DomainName("corp.example"))]))
    #expect(
      firefox("{\"policies\": {\"DNSOverHTTPS\": {\"ProviderURL\": \"https://dns.example/\"}}}") == .on(except: []))
  }

  @Test("name servers of containers are those that each was given") func containers() throws {
    let (folder, files) = try host([
      "var/lib/docker/containers/a/resolv.conf": "nameserver 192.0.2.1\n", "var/lib/docker/containers/a/hosts": "nameserver 192.0.2.9\n",
      "var/lib/docker/containers/b/resolv.conf": "nameserver 192.0.2.1\nnameserver 192.0.2.2\n",
      "run/containers/storage/overlay-containers/c/userdata/resolv.conf": "search corp.example\nnameserver 127.0.0.11\n",
    ])
    let found = files.containerResolvers { $0 == "docker0" ? IPAddress("172.18.0.1") : nil }
    #expect(
      found.map { "\($0.program.rawValue) \($0.count) \($0.servers) \($0.host)" } == [
        "docker 2 [192.0.2.1, 192.0.2.2] 172.18.0.1", "podman 1 [127.0.0.11] 10.88.0.1",
      ])
    withExtendedLifetime(folder) {}
  }

  @Test("a ruleset that removes everybody's tables is told from one that does not", arguments: [true, false])
  func ruleset(flushes: Bool) throws {
    let (folder, files) = try host([
      "etc/nftables.conf": "#!/usr/sbin/nft -f\n\(flushes ? "flush ruleset" : "# flush ruleset")\ntable inet filter {}\n"
    ])
    #expect(files.flushingRuleset == (flushes ? "\(folder.path)/etc/nftables.conf" : nil))
  }
}
