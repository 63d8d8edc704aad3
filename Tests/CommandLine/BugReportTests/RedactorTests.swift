import BugReport
import SeededRandom
import Testing

@Suite("What a bug report leaves out") struct RedactorTests {
  private func redact(_ text: String, learning: String = "", hidesPlaces: Bool = false) -> String {
    var redactor = Redactor(hidesPlaces: hidesPlaces, hosts: ["laptop-of-alice"])
    redactor.learn(learning)
    return redactor.redact(text).text
  }

  /// A secret in each form that files, commands and logs write; `%` is its place.
  static let plantedForms = [
    "PrivateKey = %", "PresharedKey=%", "  password: %", "  password: \"%\"", "    \"token\": \"%\",", "api-key: '%'",
    "{ command: { up: [openconnect, --password, %, --user, bob] } }", "exec openconnect --passwd=% host", "--cookie % --x",
    "VPN_PASS=%", "Authorization: Bearer %", "Set-Cookie: webvpn=%; path=/", "https://alice:%@vpn.example/path", "level=info secret=% x=y",
    "passphrase: |\n    %\n    %\nnext: 1", "tokens:\n  - %\n  - %\nnext: 1", "tokens:\n- %\nnext: 1", "private_key=%",
    "<key>\n%\n</key>\nnext: 1", "<auth-user-pass>\nalice\n%\n</auth-user-pass>", "PostUp = curl -u alice:% https://x.example/",
    "-----BEGIN PRIVATE KEY-----\n%\n%\n-----END PRIVATE KEY-----\nnext: 1",
    "-----BEGIN OpenVPN Static key V1-----\n%\n-----END OpenVPN Static key V1-----",
  ]

  @Test("no planted secret stays, in any form, and what follows it does", arguments: plantedForms) func planted(form: String) {
    for secret in ["hunter2-Correct", "p@ss!w0rd#", "kP9Zl0aQx3m7Vt5yWb1nRc8dEf2gHj4iKo6uSvTzXqE="] {
      let text = "before: 1\n\(form.replacing("%", with: secret))\nafter: 2"
      let shown = redact(text)
      #expect(!shown.contains(secret), "\(shown)")
      #expect(shown.hasPrefix("before: 1\n") && shown.hasSuffix("\nafter: 2"), "\(shown)")
      #expect(shown.contains("[secret]") || shown.contains("[key-1]"), "\(shown)")
      if form.hasSuffix("next: 1") { #expect(shown.contains("\nnext: 1\n"), "\(shown)") }
    }
  }

  @Test("keys and tokens are found by their form alone; the same key has the same pseudonym") func forms() {
    let key = "kP9Zl0aQx3m7Vt5yWb1nRc8dEf2gHj4iKo6uSvTzXqE="
    let hex = String(repeating: "0123abcd", count: 8)
    let shown = redact("peer \(key) (\(hex))\nagain \(key), public_key=\(hex)")
    #expect(shown == "peer [key-1] ([key-2])\nagain [key-1], public_key=[key-2]")
    #expect(redact("got eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl from it") == "got [secret] from it")
  }

  @Test("a secret that a policy names is removed everywhere, also where no name stands before it") func learnt() {
    let policy = "provider:\n  password: \"correct horse\"\n  passphrase: |\n    battery staple\n  token: hunter2"
    let log = "sh: bad word correct horse in line 1\nbattery staple\nargv: x hunter2 y"
    #expect(redact(log, learning: policy) == "sh: bad word [secret] in line 1\n[secret]\nargv: x [secret] y")
  }

  @Test("what is no secret stays as it is") func plain() {
    let text = """
      corp is connected since 2026-11-24 14:03:20 (12 min), because rule 2: ssid "Cafe" is "Cafe"
      link: corp, kernel to 203.0.113.10:51820, MTU 1420; https://vpn.corp.example/path?x=1
      tokenize the passage; the password was wrong; NetworkManager-dispatcher.service 0123456789abcdef
      2: eth0: <BROADCAST> mtu 1500 link/ether 02:00:5e:00:53:01
      """
    #expect(redact(text) == text)
  }

  @Test("with hidden places, networks, hosts and public addresses have stable pseudonyms; private addresses and ports stay")
  func places() {
    let learning = """
      rules:
        - { match: { ssid: [Cafe, "Bob's \\"Net\\""] } }
        - match:
            ssid:
              - Library One
      Endpoint = vpn.corp.example:51820
      """
    let text = """
      ssid "Cafe" on laptop-of-alice, bssid 02:00:5e:00:53:01, Library One, Cafeteria
      endpoint=203.0.113.10:51820 vpn.corp.example 203.0.113.10/32, [2001:db8::7]:443 2001:db8::7
      from 10.77.0.2/16, 192.168.1.1, fe80::1%eth0, fd00::1, 127.0.0.1 at 14:03:20. Again 203.0.113.10.
      "ssid": "Bob's \\"Net\\""
      """
    let shown = redact(text, learning: learning, hidesPlaces: true)
    #expect(
      shown == """
        ssid "ssid-1" on host-1, bssid mac-1, ssid-3, Cafeteria
        endpoint=ipv4-1:51820 name-1 ipv4-1/32, [ipv6-1]:443 ipv6-1
        from 10.77.0.2/16, 192.168.1.1, fe80::1%eth0, fd00::1, 127.0.0.1 at 14:03:20. Again ipv4-1.
        "ssid": "ssid-2"
        """)
    #expect(redact(text, learning: learning).contains("Cafe\" on laptop-of-alice"))
  }

  @Test("findings are counted") func counts() {
    var redactor = Redactor(hidesPlaces: true)
    let (_, findings) = redactor.redact("password: x\ntoken: y\n203.0.113.1 and 203.0.113.1")
    #expect(findings.secrets == 2 && findings.pseudonyms == 2)
  }

  @Test("any text passes without a trap, and keeps its number of lines") func anything() {
    var random = SplitMix64(seed: 7)
    let pieces = [
      "password", ":", "=", " ", "\"", "'", "[", "|", "\n", "-", "<key>", "</key>", "://", "@", "é", "\u{0}", "x", "--token", "203.0.113.1",
      "-----BEGIN PRIVATE KEY-----",
    ]
    for _ in 0..<2000 {
      let text = (0..<Int.random(in: 0..<30, using: &random)).compactMap { _ in pieces.randomElement(using: &random) }.joined()
      var redactor = Redactor(hidesPlaces: true)
      redactor.learn(text)
      let shown = redactor.redact(text).text
      #expect(shown.utf8.count { $0 == 0x0a } == text.utf8.count { $0 == 0x0a }, "\(text)")
    }
  }
}
