import KernelModel
import KeyMemory
import NetworkTypes
import RoamwardCore
import Testing

@testable import PolicySource

@Suite struct WireGuardQuickTests {
  private func read(_ text: String, mode: UInt32? = nil) -> (configuration: WireGuardQuickConfiguration?, diagnostics: [Diagnostic]) {
    readWireGuardQuick(Array(text.utf8), file: "corp.conf", mode: mode)
  }

  @Test("a file with everything in it becomes these values")
  func everything() throws {
    let (configuration, diagnostics) = read(Samples.wireGuard, mode: 0o600)
    #expect(diagnostics == [])
    let all = try #require(configuration)
    #expect(all.privateKey == SecretKey(base64: Samples.privateKey))
    #expect(all.listenPort == 51820 && all.mtu == 1380 && all.routesFromAllowedIPs)
    #expect(all.addresses.map(\.description) == ["10.77.3.2/32", "fd77::2/128"])
    #expect(all.dnsServers.map(\.description) == ["10.77.0.1"] && all.searchDomains.map(\.text) == ["corp.example"])
    let peer = try #require(all.peers.first)
    #expect(
      all.peers.count == 1 && peer.publicKey == WireGuardKey(base64: Samples.peerKey)
        && peer.presharedKey == SecretKey(base64: Samples.presharedKey))
    #expect(peer.endpoint?.description == "vpn.corp.example:51820" && peer.persistentKeepalive == 25)
    #expect(peer.allowedIPs.map(\.description) == ["10.77.0.0/16", "fd77::/48", "10.78.0.0/16"])
  }

  @Test("the public keys of RFC 7748, section 6.1, and of the sample")
  func publicKey() throws {
    func key(_ hex: String) -> WireGuardKey? { SSID("hex:" + hex).flatMap { WireGuardKey(bytes: $0.bytes) } }
    let bob = try #require(SecretKey(hexadecimal: "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
    #expect(bob.publicKey == key("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"))
    #expect(SecretKey(base64: Samples.privateKey)?.publicKey == WireGuardKey(base64: Samples.ownKey))
  }

  @Test("keys, sections and off-values in any case, comments, white space and CRLF")
  func leniency() throws {
    let (configuration, diagnostics) = read(
      "# x\r\n [ INTERFACE ] # y\r\n\tprivatekey=\(Samples.privateKey)#z\r\nTABLE = Off\nfwmark = 0\nsaveconfig = FALSE\nlistenport=0\n[peer]\nPUBLICKEY   =  \(Samples.peerKey)\nAllowedIPs =\npersistentkeepalive = OFF\n"
    )
    #expect(diagnostics == [])
    #expect(
      configuration?.routesFromAllowedIPs == false && configuration?.listenPort == nil && configuration?.peers.first?.allowedIPs == [])
  }

  @Test("all problems are told at once, and no key is")
  func golden() {
    let (configuration, diagnostics) = read(
      """
      [Interface]
      PrivateKey = \(Samples.privateKey.dropLast())
      Adress = 10.0.0.1
      Address = 10.0.0.1/33, 10.0.0.2/24
      Table = 51820
      FwMark = 0xca6c
      PostUp = wg set %i private-key \(Samples.privateKey)
      SaveConfig = true
      Endpoint = a:1
      MTU = 1
      \(Samples.privateKey)
      [Peer]
      PresharedKey = secret \(Samples.presharedKey)
      Endpoint = vpn.example.com
      AllowedIPs = \(Samples.privateKey)
      PersistentKeepalive = 65536
      [Bogus]
      x = 1
      """, mode: 0o644)
    #expect(configuration == nil)
    #expect(
      diagnostics.map { $0.rendered() }.joined(separator: "\n") == """
        corp.conf:1:1: warning: everyone can read this file, which holds a private key
          help: chmod 600 corp.conf
        corp.conf:2:14: error: `PrivateKey` is not a key: expected 44 characters of base64, found 43
          PrivateKey = •••••••••••••••••••••••••••••••••••••••••••
                       ^
          help: `wg genkey`, `wg pubkey` and `wg genpsk` print keys
        corp.conf:3:1: error: unknown key in [Interface]
          Adress = ••••••••
          ^
          help: did you mean `Address`?
        corp.conf:4:11: error: expected an address such as 10.8.0.2/32, found "10.0.0.1/33"
          Address = 10.0.0.1/33, 10.0.0.2/24
                    ^
        corp.conf:5:9: error: `Table` can only be `off` or `auto`: Roamward routes through tables of its own
          Table = 51820
                  ^
          help: remove the line
        corp.conf:6:1: error: `FwMark` is not supported: Roamward marks its tunnels' packets itself
          FwMark = 0xca6c
          ^
          help: remove the line
        corp.conf:7:1: error: `PostUp` is not supported: no shell hooks are run
          PostUp = •• ••• •• ••••••••••• ••••••••••••••••••••••••••••••••••••••••••••
          ^
          help: remove the line, or use the provider `command` for this tunnel
        corp.conf:8:1: error: `SaveConfig` is not supported: Roamward never writes this file
          SaveConfig = true
          ^
          help: remove the line
        corp.conf:9:1: error: `Endpoint` does not belong in [Interface]
          Endpoint = a:1
          ^
          help: move it to [Peer]
        corp.conf:10:7: error: expected a number from 576 to 65535, found "1"
          MTU = 1
                ^
        corp.conf:11:1: error: unknown key in [Interface]
          ••••••••••••••••••••••••••••••••••••••••••••
          ^
          help: known keys: PrivateKey, ListenPort, Address, DNS, MTU, Table, FwMark, PreUp, PostUp, PreDown, PostDown, SaveConfig
        corp.conf:12:1: error: `PublicKey` is missing in this [Peer]
          [Peer]
          ^
          help: add the public key of the other side
        corp.conf:13:16: error: `PresharedKey` is not a key: expected 44 characters of base64, found 51
          PresharedKey = •••••• ••••••••••••••••••••••••••••••••••••••••••••
                         ^
          help: `wg genkey`, `wg pubkey` and `wg genpsk` print keys
        corp.conf:14:12: error: expected HOST:PORT, such as vpn.example.com:51820 or [2001:db8::1]:51820, found "vpn.example.com"
          Endpoint = vpn.example.com
                     ^
        corp.conf:15:14: error: expected a prefix such as 10.0.0.0/8, found "••••••••••••••••••••••••••••••••••••••••••••"
          AllowedIPs = ••••••••••••••••••••••••••••••••••••••••••••
                       ^
        corp.conf:16:23: error: expected off, or seconds up to 65535, found "65536"
          PersistentKeepalive = 65536
                                ^
        corp.conf:17:1: error: a section is [Interface] or [Peer]
          •••••••
          ^
        """)
  }

  @Test(
    "what a whole file can lack, or have too much of",
    arguments: [
      ("", "the section [Interface] is missing"), ("[Interface]\nMTU = 1400\n", "`PrivateKey` is missing in [Interface]"),
      ("PrivateKey = x\n[Interface]\nPrivateKey = \(Samples.privateKey)", "this stands before the first section"),
      ("[Interface]\nPrivateKey = \(Samples.privateKey)\n[Interface]", "[Interface] is given twice; the first is at corp.conf:1:1"),
      (
        "[Interface]\nPrivateKey = \(Samples.privateKey)\nPrivateKey = \(Samples.privateKey)",
        "`PrivateKey` is given twice; the first is at corp.conf:2:1"
      ),
      ("[Interface]\nPrivateKey = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "`PrivateKey` is all zeros, which is no key"),
      ("[Interface]\nPrivateKey = \(Samples.privateKey)\nhello", "this is neither a section nor `Key = Value`"),
      (
        "[Interface]\nPrivateKey = \(Samples.privateKey)\n[Peer]\nPublicKey = \(Samples.peerKey)\n[Peer]\nPublicKey = \(Samples.peerKey)",
        "this peer is given twice; the first is at corp.conf:3:1"
      ),
      (
        "[Interface]\nPrivateKey = \(Samples.privateKey)\n[Peer]\nPublicKey = \(Samples.ownKey)",
        "the peer's key is that of this interface itself"
      ),
    ])
  func wholeFile(text: String, message: String) {
    let (configuration, diagnostics) = read(text)
    #expect(configuration == nil && diagnostics.first?.message == message)
  }

  @Test("warnings leave the file usable")
  func warnings() {
    let head = "[Interface]\nPrivateKey = \(Samples.privateKey)\n"
    #expect(read(head).configuration != nil && read(head).diagnostics.map(\.message) == ["there is no peer, so nothing can be reached"])
    let peers =
      head
      + "[Peer]\nPublicKey = \(Samples.peerKey)\nAllowedIPs = 10.0.0.0/8\n[Peer]\nPublicKey = \(Samples.otherKey)\nAllowedIPs = 10.0.0.0/8\n"
    #expect(read(peers).configuration?.peers.count == 2)
    #expect(read(peers).diagnostics.map(\.message) == ["10.0.0.0/8 belongs to an earlier peer too, and goes to this one"])
    #expect(read(Samples.wireGuard, mode: 0o604).diagnostics.map(\.severity) == [.warning])
  }

  @Test(
    "what is no key",
    arguments: [
      "", "AAAA", String(repeating: "A", count: 44), String(repeating: "!", count: 43) + "=", String(Samples.privateKey.dropLast(2)) + "l=",
      Samples.privateKey + "=",
    ])
  func noKey(text: String) { #expect(WireGuardKey(base64: text) == nil && SecretKey(base64: text) == nil) }

  @Test("a policy whose configuration has errors has errors, told at the configuration's own place")
  func throughPolicy() {
    let loaded = load(Samples.policy, ["/etc/p/corp.conf": "[Interface]\nPrivateKey = zzz\n"])
    #expect(loaded.hasErrors && loaded.diagnostics.contains { $0.location == Place(file: "/etc/p/corp.conf", line: 2, column: 14) })
    #expect(loaded.dependencies.contains("/etc/p/corp.conf"))
  }
}
