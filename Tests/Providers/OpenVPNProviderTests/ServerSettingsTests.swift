import NetworkTypes
import OpenVPNProvider
import ProviderProtocol
import SeededRandom
import Testing

@Suite struct ServerSettingsTests {
  @Test("addresses, routes, names and the MTU are those that openvpn tells") func values() {
    let sent = ServerSettings(
      [
        ("dev", "tun0"), ("tun_mtu", "1400"), ("ifconfig_local", "10.8.0.6"), ("ifconfig_netmask", "255.255.255.0"),
        ("ifconfig_ipv6_local", "2001:db8:8::1000"), ("ifconfig_ipv6_netbits", "64"), ("route_network_1", "10.0.0.0"),
        ("route_netmask_1", "255.0.0.0"), ("route_gateway_1", "10.8.0.1"), ("route_network_2", "192.0.2.80"),
        ("route_netmask_2", "255.255.255.255"), ("route_gateway_2", "198.51.100.1"), ("route_net_gateway", "198.51.100.1"),
        ("route_ipv6_network_1", "2001:db8:100::/48"), ("foreign_option_1", "dhcp-option DNS 10.8.0.1"),
        ("foreign_option_2", "dhcp-option DOMAIN corp.example"), ("foreign_option_3", "dhcp-option DOMAIN-ROUTE lab.example"),
        ("trusted_ip", "203.0.113.10"),
      ], pushReply: "PUSH: Received control message: 'PUSH_REPLY,redirect-gateway def1 ipv6,route 10.0.0.0 255.0.0.0'")
    #expect(sent.unreadable.isEmpty)
    #expect(sent.settings.addresses.map(\.description) == ["10.8.0.6/24", "2001:db8:8::1000/64"])
    #expect(
      sent.settings.includedRoutes.map(\.description) == [
        "10.8.0.0/24", "2001:db8:8::/64", "10.0.0.0/8", "2001:db8:100::/48", "0.0.0.0/0", "::/0",
      ])
    #expect(sent.settings.excludedRoutes.map(\.description) == ["192.0.2.80/32"])
    #expect(sent.settings.mtu == 1400 && sent.settings.remoteAddress?.description == "203.0.113.10")
    #expect(sent.settings.dns?.servers.map(\.description) == ["10.8.0.1"])
    #expect(
      sent.settings.dns?.searchDomains.map(\.text) == ["corp.example"] && sent.settings.dns?.matchDomains.map(\.text) == ["lab.example"])
  }

  @Test("what cannot be read is left out and listed") func unreadable() {
    let sent = ServerSettings([
      ("dev", "tun0"), ("ifconfig_local", "10.8.0.6"), ("ifconfig_netmask", "255.0.255.0"), ("route_network_1", "10.0.0.0"),
      ("route_netmask_1", "255.0.0.1"), ("route_network_2", "x"), ("foreign_option_1", "dhcp-option DNS x"), ("tun_mtu", "9"),
    ])
    #expect(
      sent.unreadable == ["ifconfig 10.8.0.6 255.0.255.0", "route 10.0.0.0 255.0.0.1", "route x 255.255.255.255", "dhcp-option DNS x"])
    #expect(sent.settings == TunnelSettings())
  }

  @Test("whatever a server sends, the settings are within the protocol's bounds", arguments: 0..<200) func fuzzed(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let names = ["ifconfig_local", "ifconfig_netmask", "ifconfig_ipv6_local", "ifconfig_ipv6_netbits", "tun_mtu", "trusted_ip", "dev"]
    let texts = ["10.0.0.1", "255.255.0.0", "::", "2001:db8::/129", "-1", "", "99999999999", "a.example", "dhcp-option DNS 10.0.0.1", "é"]
    var values: [(name: String, value: String)] = []
    for i in 1...2000 {
      let name = ["route_network_", "route_netmask_", "route_ipv6_network_", "foreign_option_"].randomElement(using: &random) ?? ""
      values.append((name + "\(i / 4 + 1)", texts.randomElement(using: &random) ?? ""))
    }
    values += names.map { ($0, texts.randomElement(using: &random) ?? "") }
    let sent = ServerSettings(values, pushReply: texts.joined(separator: ",PUSH_REPLY,"))
    var endpoint = ProviderEndpoint()
    _ = try endpoint.receive(try AgentMessage.hello(version: 1, tunnel: "t").encoded())
    _ = try endpoint.receive(try AgentMessage.start(StartRequest()).encoded())
    _ = try endpoint.send(.settings(id: 1, sent.settings))
  }
}

@Suite struct ManagementLineTests {
  @Test(
    "each line is read as what it is",
    arguments: [
      (">STATE:1795447420,CONNECTED,SUCCESS,10.8.0.6,192.0.2.1,1194,,", ManagementLine.state("CONNECTED", "SUCCESS")),
      (">STATE:1795447420,RECONNECTING,tls-error,,,,,", .state("RECONNECTING", "tls-error")),
      (">HOLD:Waiting for hold release:10", .hold(seconds: 10)), (">HOLD:Waiting for hold release:99999", .hold(seconds: 300)),
      (">HOLD:x", .hold(seconds: 0)), (">PASSWORD:Need 'Auth' username/password", .needs(what: "Auth", hasUsername: true, challenge: nil)),
      (
        ">PASSWORD:Need 'Auth' username/password SC:1,Enter PIN, please",
        .needs(what: "Auth", hasUsername: true, challenge: .init(text: "Enter PIN, please", mayEcho: true, isConcatenated: false))
      ),
      (">PASSWORD:Need 'Private Key' password", .needs(what: "Private Key", hasUsername: false, challenge: nil)),
      (">PASSWORD:Verification Failed: 'Auth'", .refused(what: "Auth", challenge: nil)),
      (
        ">PASSWORD:Verification Failed: 'Auth' ['CRV1:R,E:state42:YWxpY2U=:Code from the phone: 6 digits']",
        .refused(
          what: "Auth", challenge: .init(state: "state42", username: "alice", text: "Code from the phone: 6 digits", needsAnswer: true))
      ),
      (">UPDOWN:UP", .up), (">UPDOWN:DOWN", .down), (">UPDOWN:ENV,dev=tun0", .setting(name: "dev", value: "tun0")),
      (">UPDOWN:ENV,a=b=c", .setting(name: "a", value: "b=c")), (">UPDOWN:ENV,END", .endOfSettings),
      (">LOG:1795447420,W,WARNING: a, b", .log("WARNING: a, b", isLoud: true)), (">LOG:1795447420,,x", .log("x", isLoud: false)),
      (">FATAL:no TUN", .fatal("no TUN")), (">INFOMSG:WEB_AUTH::https://login.example/", .page("https://login.example/")),
      (">INFOMSG:OPEN_URL:https://login.example/", .page("https://login.example/")),
      ("ERROR: unknown command", .failure("unknown command")),
      ("SUCCESS: pid=1", .other), (">", .other), ("", .other), (">STATE:", .other), (">PASSWORD:Need 'Auth", .other),
    ]) func lines(text: String, meant: ManagementLine)
  {
    #expect(ManagementLine(text[...]) == meant)
  }

  @Test("any text is a line") func total() {
    var random = SplitMix64(seed: 7)
    let parts = [
      ">", "STATE:", "PASSWORD:", "Need '", "'", "Verification Failed: ", "['CRV1:", ":", ",", "SC:", "UPDOWN:ENV,", "=", "é", "\0",
    ]
    for _ in 0..<20_000 {
      let text = (0..<(random.next() % 9)).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
      _ = ManagementLine(text[...])
    }
  }

  @Test("words are quoted as the management interface reads them") func quoting() {
    #expect(managementWord("a b") == "\"a b\"" && managementWord("\"\\") == "\"\\\"\\\\\"" && managementWord("a\nb") == nil)
  }
}

@Suite struct ClientFileTests {
  @Test("a client's file is kept but for what the agent does") func kept() throws {
    let text = """
      # comment
      client
      dev tun
      proto udp
      remote vpn.example 1194
      --nobind
      user nobody
      register-dns
      ncp-disable
      setenv FRIENDLY_NAME "Corp"
      setenv opt block-outside-dns
      setenv opt tls-version-min 1.2
      remote-cert-tls server
      <ca>
      up /bin/sh
      </ca>
      """
    let file = try ClientFile(Array(text.utf8))
    let kept = "client\nproto udp\nremote vpn.example 1194\nnobind\ntls-version-min 1.2\nremote-cert-tls server\n<ca>\nup /bin/sh\n</ca>\n"
    #expect(file.text == kept)
    #expect(file.leftOut == ["dev", "user", "register-dns", "ncp-disable", "setenv", "block-outside-dns"] && !file.asksForLogin)
  }

  @Test(
    "what runs programs, or reads or writes files, is an error with its line",
    arguments: [
      (
        "client\nplugin /tmp/x.so",
        "line 2 of the credential `config`: the option `plugin` is not allowed; remove it if the tunnel works without it"
      ),
      ("config other", "line 1 of the credential `config`: the option `config` is not allowed; remove it if the tunnel works without it"),
      (
        "tls-verify /bin/sh",
        "line 1 of the credential `config`: the option `tls-verify` is not allowed; remove it if the tunnel works without it"
      ),
      ("engine x", "line 1 of the credential `config`: the option `engine` is not allowed; remove it if the tunnel works without it"),
      (
        "ca ca.crt",
        "line 1 of the credential `config`: `ca` names a file, which this provider cannot read; write its content between <ca> and </ca>"
      ),
      (
        "auth-user-pass login",
        "line 1 of the credential `config`: `auth-user-pass` names a file, which this provider cannot read; use the option `username` and a credential"
      ),
      (
        "<ca>\nAAAA\n</ca>.\nplugin /tmp/evil.so\n<ca>\nAAAA\n</ca>",
        "line 3 of the credential `config`: text after the end of the block <ca>"
      ),
      (
        "<connection>\nremote 192.0.2.1 1194\nsocks-proxy 192.0.2.2 1080 /etc/shadow\n</connection>",
        "line 3 of the credential `config`: `socks-proxy` with a file or a login is not supported"
      ),
      (
        "setenv opt up /bin/sh",
        "line 1 of the credential `config`: the option `up` is not allowed; remove it if the tunnel works without it"
      ),
      (
        "client\nauth-federate",
        "line 2 of the credential `config`: the option `auth-federate` is not supported: it is the sign-in of AWS's own client, which openvpn does not know"
      ),
      ("dev tap0", "line 1 of the credential `config`: `dev tap0` is a link layer, which this provider does not have"),
      ("<up>\nx\n</up>", "line 1 of the credential `config`: the block <up> is not known"),
      ("\n<ca>\nx", "line 2 of the credential `config`: the block <ca> has no end"),
      ("remote a\u{1}b", "line 1 of the credential `config`: it has a control character"),
    ]) func refused(text: String, reason: String)
  {
    let error = #expect(throws: ClientFile.Failure.self) { try ClientFile(Array(text.utf8)) }
    #expect(error?.description == reason)
  }
}
