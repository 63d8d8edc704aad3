import NetworkTypes
import OpenConnectProvider
import ProviderProtocol
import SeededRandom
import Testing

@Suite("What openconnect and its script say") struct ScriptSettingsTests {
  @Test("a server with everything inside, name servers, domains and exceptions") func everything() {
    let found = ScriptSettings([
      "INTERNAL_IP4_ADDRESS": "10.8.0.6", "INTERNAL_IP6_NETMASK": "2001:db8::6/64", "INTERNAL_IP4_DNS": "10.0.0.53 10.0.0.54",
      "INTERNAL_IP4_MTU": "1200", "CISCO_DEF_DOMAIN": "corp.example", "CISCO_SPLIT_DNS": "corp.example,lab.example",
      "CISCO_SPLIT_EXC": "1", "CISCO_SPLIT_EXC_0_ADDR": "198.51.100.0", "CISCO_SPLIT_EXC_0_MASKLEN": "24", "VPNGATEWAY": "192.0.2.1",
    ])
    #expect(found.unreadable == [])
    #expect(found.settings.addresses.map(\.description) == ["10.8.0.6/32", "2001:db8::6/128"])
    #expect(found.settings.includedRoutes.map(\.description) == ["0.0.0.0/0", "::/0", "10.0.0.53/32", "10.0.0.54/32"])
    #expect(found.settings.excludedRoutes.map(\.description) == ["198.51.100.0/24"])
    #expect(found.settings.dns?.matchDomains.map(\.text) == ["corp.example", "lab.example"])
    // IPv6 needs as much.
    #expect(found.settings.mtu == 1280 && found.settings.remoteAddress == IPAddress("192.0.2.1"))
  }

  @Test("a list of routes that cannot be read is not a tunnel for everything") func unreadable() {
    let found = ScriptSettings([
      "INTERNAL_IP4_ADDRESS": "10.8.0.6", "CISCO_SPLIT_INC": "2", "CISCO_SPLIT_INC_0_ADDR": "10.0.0.0", "CISCO_SPLIT_INC_0_MASKLEN": "33",
      "CISCO_SPLIT_INC_1_ADDR": "x",
    ])
    #expect(found.settings.includedRoutes == [])
    #expect(found.unreadable == ["CISCO_SPLIT_INC 10.0.0.0/33", "CISCO_SPLIT_INC x/"])
  }

  @Test("a ticket takes its five lines and nothing else") func ticket() {
    var ticket = Ticket()
    for line in ["COOKIE='a'b'", "FINGERPRINT=pin-sha256:x", "HOST='vpn.example'", "PATH='/tmp'", "RESOLVE='a:\u{1b}b'", "garbage"] {
      ticket.take(line[...])
    }
    #expect(ticket.isComplete && ticket.cookie == "a'b" && ticket.server == "vpn.example" && ticket.resolve.isEmpty)
  }

  @Test(
    "prompts",
    arguments: [
      ("Username:", SignInPrompt.username), ("Password:", .password("Password")), ("Second Password: ", .password("Second Password")),
      ("GROUP: [a|b c]:", .group(["a", "b c"])), ("Enter PEM pass phrase:", .keyPassword), ("Response:", .other("Response")),
      ("Enter 'yes' to accept, 'no' to abort; anything else to view: ", .certificate), (":", .other("")),
    ])
  func prompts(text: String, expected: SignInPrompt) { #expect(SignInPrompt(text) == expected) }

  @Test("a server that wants its own program to run here is refused, with words for a person") func hostscan() {
    // The line of the pin follows, and is not the reason.
    let early = OpenConnectTrouble("Server certificate verify failed: certificate not activated")
    #expect(early?.code == "certificate-not-yet-valid" && early?.help == .time)
    #expect(OpenConnectTrouble("Server certificate verify failed: certificate expired")?.code == "certificate-expired")
    let trouble = OpenConnectTrouble("Error: Server asked us to run CSD hostscan.")
    #expect(trouble?.code == "hostscan-refused" && trouble?.help == .person && OpenConnectTrouble("Connected as 10.0.0.1") == nil)
  }

  @Test("whatever a server makes them say is read within bounds") func total() {
    var random = SplitMix64(seed: 9)
    let names = [
      "INTERNAL_IP4_ADDRESS", "INTERNAL_IP6_NETMASK", "INTERNAL_IP4_DNS", "CISCO_SPLIT_INC", "CISCO_SPLIT_INC_0_ADDR", "CISCO_DEF_DOMAIN",
      "CISCO_SPLIT_INC_0_MASKLEN", "CISCO_IPV6_SPLIT_INC", "CISCO_SPLIT_DNS", "INTERNAL_IP4_MTU", "VPNGATEWAY",
    ]
    let pieces = ["10.0.0.1", "::1", "99999999", "-1", "24", "a.example", ",", " ", "/", ":", "[", "|", "'", "=", "\u{0}", "ü", "x"]
    for _ in 0..<20_000 {
      func text() -> String { (0..<Int(random.next() % 6)).map { _ in random.pick(pieces) }.joined() }
      var values: [String: String] = [:]
      for _ in 0..<6 { values[random.pick(names)] = text() }
      let found = ScriptSettings(values)
      #expect(found.settings.includedRoutes.count <= 1024)
      _ = SignInPrompt(text())
      _ = OpenConnectTrouble(text())
      var ticket = Ticket()
      ticket.take(text()[...])
    }
  }
}
