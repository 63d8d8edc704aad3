import BugReport
import JSON
import LinuxIO
import SeededRandom
import Testing

@Suite("Planted secrets in a bug report") struct PlantedSecretsTests {
  /// The text of a file in a report.
  private func report(_ text: String, as format: ReportFormat) -> String {
    var redactor = Redactor(hidesPlaces: false)
    let document = Disclosure(text, as: format)
    redactor.learn(text)
    redactor.learn(secrets: document?.secrets ?? [])
    return redactor.redact(document?.text ?? text).text
  }

  /// Options that programs of VPNs take secrets by.
  private static let options = [
    "--password", "--client-secret", "--otp", "--code", "-p", "--authkey", "--auth-key", "--token", "--passphrase", "--pin", "--psk",
    "--setup-key", "--cookie", "--preauthkey", "--api-key", "--private-key", "--key-password", "--token-secret", "--proxy-password",
  ]

  /// Names of settings in files and headers.
  private static let names = [
    "password", "Password", "VPN_PASS", "PGPASSWORD", "private-key-password", "psk", "wep-key0", "leap-password", "client_secret",
    "clientSecret", "access_token", "refresh-token", "apiKey", "PresharedKey", "preshared_key", "auth_key", "AUTHKEY", "setup_key", "otp",
    "webvpn", "DSID", "MRHSession", "JSESSIONID", "sae_password", "xauth-password", "PIN", "passcode", "secret-key", "cookie",
  ]

  /// Forms of YAML and JSON. In a policy, every value of an unknown key is left out, so that the names matter little.
  private static let ofDocuments: [String] =
    options.flatMap { option in
      [
        "provider:\n  command:\n    up:\n      - /usr/sbin/openconnect\n      - \"\(option)\"\n      - \"%\"\n    down: [/bin/true]",
        "provider: { command: { up: [openconnect, '\(option)=%'], down: [/bin/true] } }",
        "provider: { command: { up: [sh, -c, \"vpn \(option) %\"] } }",
        "{\"provider\":{\"command\":{\"up\":[\"x\",\"\(option)\",\"%\"],\"down\":[\"x\",\"\(option)%\"]}}}",
      ]
    }
    + names.flatMap { name in
      [
        "credentials:\n  \(name): %", "options: { \(name): '%' }", "\(name):\n  - %\n  - name: %",
        "x: { \(name): { name: %, mtu: \"%\" } }",
        "\(name): |\n  %\n  %", "\(name): >-\n    mtu: %\nmtu: 1420",
      ]
    }
    + [
      "description: the password is %", "# password is %\nmtu: 1420", "url: https://alice:%@vpn.example/", "url: https://vpn.example/?t=%",
      "user: [alice, %]\nrules: [\n", "password: %\n  rules: :", "pki:\n  key: |\n    -----BEGIN NEBULA X25519 PRIVATE KEY-----\n    %\n",
      "? [%]\n: x", "a: &x %\nb: *x", "---\na: %\n---\nb: %", "tunnels: { corp: { up: [x, -p%] } }",
    ]

  /// Forms of files of settings.
  private static let ofSettings: [String] =
    names.flatMap { name in ["[Interface]\n\(name) = %", "[vpn]\nMTU=1420\n\(name)=%", "; \(name)=%"] } + [
      "[vpn-secrets]\nanything=%", "[Interface]\nPrivateKey = %\n[Peer]\nPresharedKey=%", "PostUp = curl -u alice:% https://x.example/",
      "<auth-user-pass>\nalice\n%\n</auth-user-pass>", "<key>\n%\n</key>.\n%\n</key>", "<ca>\n</ca>.\nauth-user-pass %\n<ca>\n</ca>",
      "<connection>\nremote vpn.example 1194\nhttp-proxy-user-pass %\n</connection>", "http-proxy-option AGENT %", "setenv PASSWORD %",
      "static-challenge % 1", "askpass %", "<tls-crypt-v2>\n-----BEGIN OpenVPN tls-crypt-v2 client key-----\n%\n</tls-crypt-v2>",
      "key-direction 1\n  secret %", "just a line with %", "\u{FEFF}password %", "Endpoint: %", "<x %>\nmtu", "[%]",
    ]

  /// Forms of logs and of what programs print.
  private static let ofText: [String] =
    options.flatMap { option in
      [
        "exec: openconnect \(option) % --user alice vpn.example", "argv: [\"openconnect\", \"\(option)\", \"%\"]", "exec \(option)=% x",
        "- \"\(option)\"\n- \"%\"\nnext: 1", "  \"\(option)\",\n  \"%\",\nnext: 1", "run: '\(option)' '%'",
      ]
    }
    + names.flatMap { name in
      ["\(name)=%", "x: {\"\(name)\": \"%\", \"y\": 1}", "\(name): %", "  \(name) = \"%\"", "https://x.example/?a=1&\(name)=%"]
    }
    + [
      "Authorization: Bearer %", "curl -H 'Bearer %' https://x.example", "Authorization: Basic %", "machine x login alice password %",
      "username alice password %", ": PSK \"%\"", "alice : EAP \"%\"", ": RSA key.pem \"%\"", "password \"Auth\" \"%\"",
      "alice Cleartext-Password := \"%\"", "<Password>%</Password>", "<key>Password</key><string>%</string>",
      "<key>SharedSecret</key>\n<string>%</string>\nnext: 1", "curl -u alice:% https://x.example", "sshpass -p%", "curl --user alice:%",
      "otpauth://totp/x:alice?secret=%&issuer=x", "postgres://bob:%@db.example/x", "Set-Cookie: session=%; path=/", "SVPNCOOKIE=%",
      "-----BEGIN OPENSSH PRIVATE KEY-----\n%\n-----END OPENSSH PRIVATE KEY-----",
      "\"key\": \"-----BEGIN PRIVATE KEY-----\\n%\\n-----END PRIVATE KEY-----\\n\"",
      "-----BEGIN OpenVPN tls-crypt-v2 client key-----\n%\n-----END OpenVPN tls-crypt-v2 client key-----", "code: %", "PIN=%",
    ]

  /// Tokens that show by their form what they are, with letters and digits instead of `#`.
  private static let ofForm = [
    "ghp_####################", "github_pat_######################", "glpat-####################", "tskey-auth-############-######",
    "AKIAQWERTYUIOP123456", "xoxb-############-######", "AIzaSy##############################",
    "AGE-SECRET-KEY-1################################",
    "$6$salt$##########################", "$argon2id$v=19$m=65536$############", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.############",
    "0x################################", "hskey-auth-############-######", "hvs.################", "nbp_####################",
    "rw1-################################",
  ]

  private static let letters = Array("abcdefghjkmnpqrstuvwxyzABCDEFGHJKMNPQRSTUVWXYZ23456789")

  @Test("none of them stays, in any form of any tool") func planted() {
    var random = SplitMix64(seed: 37)
    let forms =
      Self.ofDocuments.map { ($0, ReportFormat.yaml) } + Self.ofDocuments.map { ($0, .json) } + Self.ofSettings.map { ($0, .settings) }
      + Self.ofText.map { ($0, .text) }
    #expect(forms.count >= 200)
    for (form, format) in forms {
      let secret = String((0..<14).map { _ in Self.letters.randomElement(using: &random) ?? "x" }) + "7Q"
      let shown = report(form.replacing("%", with: secret), as: format)
      #expect(!shown.contains(secret), "\(format): \(form)\nshows\n\(shown)")
      if form.hasSuffix("\nnext: 1") { #expect(shown.hasSuffix("\nnext: 1"), "\(shown)") }
    }
    for form in Self.ofForm {
      let secret = String(form.map { $0 == "#" ? Self.letters.randomElement(using: &random) ?? "x" : $0 })
      for text in ["got \(secret) from it", "\"\(secret)\"", "(\(secret))", "x,\(secret),y"] {
        #expect(!report(text, as: .text).contains(secret), "\(report(text, as: .text))")
        #expect(!report("mtu: [1, '\(secret)']", as: .yaml).contains(secret))
      }
    }
  }

  @Test("a document shows the values of harmless keys, and the program and options of a command") func harmless() {
    let policy = """
      version: 1
      # alice's laptop
      tunnels:
        corp:
          provider: { command: { up: [/usr/sbin/openconnect, --background, --user, alice, -vs3cret, vpn.example], interface: tun0 } }
          routes: { include: [10.0.0.0/8, "fd00::/8"], on-overlap: refuse }
          on-demand:
            rules:
              - { match: { ssid: [Cafe, "on"], gateway-mac: "02:00:5e:00:53:01" }, action: disconnect }
              - action: connect
          credentials: { username: alice }
      """
    #expect(
      report(policy, as: .yaml) == """
        version: 1
        tunnels:
          corp:
            provider:
              command:
                up: ["/usr/sbin/openconnect", "--background", "--user", [left out], "-v=[left out]", [left out]]
                interface: tun0
            routes:
              include: [10.0.0.0/8, "fd00::/8"]
              on-overlap: refuse
            on-demand:
              rules:
                - match:
                    ssid: [Cafe, "on"]
                    gateway-mac: "02:00:5e:00:53:01"
                  action: disconnect
                - action: connect
            credentials: [secret]

        """)
  }

  @Test("a file with a syntax error shows known keys and plain values, in their lines") func outline() {
    let policy = "version: 1\ntunnels:\n  corp:\n    mtu: 1420\n\tpassword: hunter2\n    rules: [{ action: connect }\n    kill-switch: on\n"
    #expect(
      report(policy, as: .yaml)
        == "version: 1\ntunnels:\n  [left out]\n    mtu: 1420\n\tpassword: [secret]\n    rules: [left out]\n    kill-switch: on\n")
  }

  @Test("a file of settings shows the options that are needed to see a fault") func settings() {
    #expect(
      report("client\r\nremote vpn.example 1194 udp\r\n<ca>\r\nMIIB\r\n</ca>\r\nup /etc/x.sh\r\n# note", as: .settings)
        == "client\nremote vpn.example 1194 udp\n<ca>\n[left out]\n</ca>\nup [left out]\n# [left out]")
    #expect(
      report("[Interface]\nAddress = 10.0.0.2/32\nPostUp = iptables x\n[Peer]\nAllowedIPs=0.0.0.0/0", as: .settings)
        == "[Interface]\nAddress = 10.0.0.2/32\nPostUp = [secret]\n[Peer]\nAllowedIPs = 0.0.0.0/0")
  }

  @Test("every key that policies and reports may have is judged", arguments: ["docs/policy.schema.json", "docs/schema/status.schema.json"])
  func judged(file: String) throws {
    var keys: Set<String> = []
    func walk(_ value: JSON) {
      for member in value["properties"]?.members ?? [] { keys.insert(member.key) }
      for member in value.members ?? [] { walk(member.value) }
      for item in value.array ?? [] { walk(item) }
    }
    walk(try JSON(parsing: try TextFile.read(file, limit: 1 << 20)))
    #expect(keys.count > 50)
    for key in keys.sorted() where !KeyNature.isJudged(key) && KeyNature(of: key) != .arguments {
      Issue.record("\(file): the key \(key) is in no list of Sources/CommandLine/Pure/BugReport/Documents/HarmlessKeys.swift")
    }
  }
}
