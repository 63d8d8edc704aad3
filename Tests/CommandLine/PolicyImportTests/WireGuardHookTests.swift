import NetworkTypes
import PolicyFiles
import RoamwardCore
import Testing

@testable import PolicyImport

@Suite("the programs of a wg-quick file become keys, or their loss is told") struct WireGuardHookTests {
  /// The lines of a file's [Interface], and the policy that they become.
  struct Case: CustomTestStringConvertible, Sendable {
    var lines: String
    /// The policy's `dns`, as the report writes it; empty: none.
    var dns = ""
    var killSwitch = KillSwitch.off
    var lan: LANPolicy?
    var include: [String] = []
    var isEnabled = true
    /// Words of the report, or of its warnings.
    var says = ""
    var weight = ImportReport.Weight.warning
    var isFull = true
    var testDescription: String { lines }
  }

  private func importing(_ test: Case) throws -> ImportResult {
    let text = """
      [Interface]
      PrivateKey = \(Samples.privateKey)
      Address = 10.77.3.2/32
      \(test.lines)

      [Peer]
      PublicKey = \(Samples.peerKey)
      AllowedIPs = \(test.isFull ? "0.0.0.0/0, ::/0" : "10.77.0.0/16")
      Endpoint = 203.0.113.10:51820

      """
    return try importFile(Array(text.utf8), file: "/etc/wireguard/wg0.conf", options: ImportOptions())
  }

  private func expect(_ test: Case) throws {
    let result = try importing(test)
    let tunnel = try result.tunnel()
    #expect(tunnel.dns.map { $0.keyText } ?? "" == test.dns, "\(result.report.text)")
    #expect(tunnel.killSwitch == test.killSwitch, "\(result.report.text)")
    #expect(tunnel.routes?.lan == test.lan, "\(result.report.text)")
    #expect(tunnel.routes?.include.map(\.description) ?? [] == test.include, "\(result.report.text)")
    #expect(tunnel.isEnabled == test.isEnabled, "\(result.report.text)")
    if !test.says.isEmpty { #expect(result.says(test.weight, test.says), "\(result.report.text)") }
    // Every line that runs a program has one entry, and none of them is in the file for the agent.
    let hooks = test.lines.split(separator: "\n").filter { $0.lowercased().hasPrefix("pre") || $0.lowercased().hasPrefix("post") }
    #expect(result.report.entries.count { $0.key.hasSuffix("Up") || $0.key.hasSuffix("Down") } == hooks.count, "\(result.report.text)")
    let copy = String(decoding: try #require(result.files.first).bytes, as: UTF8.self)
    #expect(!copy.split(separator: "\n").contains(where: { !$0.hasPrefix("#") && $0.contains("Up") }))
  }

  static let splitNames = "dns: { servers: [172.30.0.1], match-domains: [lan.example] }"
  static let everyName = "dns: { servers: [172.30.0.1] }"

  @Test(
    "name servers that PostUp sets become `dns`",
    arguments: [
      Case(
        lines: "PostUp = resolvectl dns %i 172.30.0.1; resolvectl domain %i ~lan.example; resolvectl default-route %i false",
        dns: splitNames),
      Case(lines: "PostUp = resolvectl dns %i 172.30.0.1\nPostUp = resolvectl domain %i '~lan.example'", dns: splitNames),
      Case(lines: "PostUp = resolvectl dns wg0 172.30.0.1 && resolvectl domain wg0 \"~lan.example\"", dns: splitNames),
      Case(
        lines: "PostUp = /usr/bin/resolvectl dns ${INTERFACE} 172.30.0.1; sudo resolvectl domain $INTERFACE \\~lan.example", dns: splitNames
      ),
      Case(lines: "PostUp=resolvectl dns %i 172.30.0.1 # home\npostup=resolvectl domain %i ~lan.example", dns: splitNames),
      Case(lines: "PostUp = resolvectl dns %i 172.30.0.1; resolvectl domain %i \"~.\"", dns: everyName),
      Case(lines: "PostUp = resolvectl dns %i 172.30.0.1 && resolvectl default-route %i true", dns: everyName),
      Case(lines: "PostUp = resolvectl dns %i 172.30.0.1; resolvectl flush-caches\nPreDown = resolvectl revert %i", dns: everyName),
      Case(
        lines: "PostUp = resolvectl domain %i lan.example ~30.172.in-addr.arpa; resolvectl dns %i 172.30.0.1 fd77::53",
        dns: "dns: { servers: [172.30.0.1, fd77::53], search-domains: [lan.example], match-domains: [30.172.in-addr.arpa, lan.example] }"),
      Case(lines: "DNS = 172.30.0.1\nPostUp = resolvectl domain %i ~lan.example", dns: splitNames),
      Case(lines: "DNS = 172.30.0.1\nPostUp = resolvectl domain %i ~lan.example; resolvectl dnssec %i no", dns: splitNames),
      Case(lines: "DNS = 172.30.0.1, ~lan.example", dns: splitNames),
      Case(lines: "DNS = ~lan.example\nDNS = 172.30.0.1", dns: splitNames),
      Case(lines: "DNS = 172.30.0.1, ~., lan.example", says: "its servers answer every name", weight: .plain),
      Case(lines: "DNS = 172.30.0.1\nPostUp = resolvectl domain %i '~.'"),
      Case(lines: "DNS = 172.30.0.9\nPostUp = resolvectl dns %i 172.30.0.1", dns: everyName),
      Case(lines: "DNS = 172.30.0.1\nPostUp = resolvectl default-route %i no; resolvectl domain %i ''", dns: "dns: none"),
      Case(lines: "PostUp = systemd-resolve -i %i --set-dns=172.30.0.1 --set-domain=~lan.example", dns: splitNames),
      Case(lines: "PostUp = systemd-resolve --set-dns 172.30.0.1 --set-domain '~lan.example' --interface %i", dns: splitNames),
      Case(lines: "PostUp = systemd-resolve --interface=%i --set-dns=172.30.0.1", dns: everyName),
      Case(lines: "PostUp = printf 'nameserver %s\\n' 172.30.0.1 | resolvconf -a %i -m 0 -x\nPostDown = resolvconf -d %i", dns: everyName),
      Case(lines: "PostUp = echo nameserver 172.30.0.1 | resolvconf -a tun.%i -m 0 -x", dns: everyName),
      Case(
        lines: "PostUp = echo -e \"nameserver 172.30.0.1\\nsearch lan.example\" | resolvconf -p -a %i",
        dns: "dns: { servers: [172.30.0.1], search-domains: [lan.example], match-domains: [lan.example] }"),
      Case(lines: "PostUp = resolvconf -a wg0.inet -x <<< 'nameserver 172.30.0.1'", dns: everyName),
      Case(lines: "PostUp = bash -c \"resolvectl dns %i 172.30.0.1; resolvectl domain %i '~lan.example'\"", dns: splitNames),
      Case(lines: "PostUp = resolvectl dns %i 172.30.0.1 || true; resolvectl domain %i ~lan.example 2>/dev/null || :", dns: splitNames),
      Case(lines: "PostUp = resolvectl dnsovertls %i yes; resolvectl dns %i 172.30.0.1", dns: everyName, says: "without TLS"),
    ]) func names(_ test: Case) throws
  { try expect(test) }

  @Test(
    "name servers that are not understood are told, with the lines to write",
    arguments: [
      "resolvectl dns %i $DNS", "resolvectl dns %i 172.30.0.1:5353", "resolvectl dns eth0 172.30.0.1", "resolvectl dns %i `cat /run/dns`",
      "echo nameserver 172.30.0.1 > /etc/resolv.conf", "cp /etc/wireguard/resolv.conf /etc/resolv.conf", "resolvconf -a %i < /etc/dns",
      "nmcli connection modify home ipv4.dns 172.30.0.1", "busctl call org.freedesktop.resolve1 /org/freedesktop/resolve1 x SetLinkDNS",
      "resolvectl domain %i ~in..valid",
    ]) func lostNames(_ command: String) throws
  {
    let result = try importing(Case(lines: "PostUp = \(command)"))
    #expect(result.says(.warning, "its name servers are lost: write `dns: { servers: [ADDRESS]"), "\(result.report.text)")
  }

  /// wg-quick(8)'s own.
  static let manual = "! -o %i -m mark ! --mark $(wg show %i fwmark) -m addrtype ! --dst-type LOCAL -j REJECT"

  @Test(
    "the usual kill switches become `kill-switch: on`",
    arguments: [
      Case(lines: "PostUp = iptables -I OUTPUT \(manual)\nPreDown = iptables -D OUTPUT \(manual)", killSwitch: .on, lan: .block),
      Case(
        lines: "PostUp  =  iptables -I OUTPUT \(manual) && ip6tables -I OUTPUT \(manual)\n"
          + "PreDown = iptables -D OUTPUT \(manual) && ip6tables -D OUTPUT \(manual)", killSwitch: .on, lan: .block,
        says: "the local network is blocked as well", weight: .plain),
      Case(
        lines: "PreUp = iptables -w -I OUTPUT ! -o wg0 -m mark ! --mark `wg show wg0 fwmark` -m addrtype ! --dst-type LOCAL -j DROP",
        killSwitch: .on, lan: .block),
      Case(
        lines:
          "PostUp = iptables -I OUTPUT ! -o %i -m mark ! --mark $(wg show %i fwmark) -m addrtype ! --dst-type LOCAL ! -d 192.168.0.0/16 -j REJECT",
        killSwitch: .on, says: "the local network stays reachable", weight: .plain),
      Case(
        lines:
          "PostUp = iptables -I OUTPUT ! -o %i -m mark ! --mark 0xca6c -m addrtype ! --dst-type LOCAL -m comment --comment 'kill switch' "
          + "-j REJECT --reject-with icmp-admin-prohibited", killSwitch: .on, lan: .block),
      Case(
        lines: "PostUp = iptables -A OUTPUT -o lo -j ACCEPT; iptables -A OUTPUT -o %i -j ACCEPT; "
          + "iptables -A OUTPUT -d 203.0.113.10 -p udp --dport 51820 -j ACCEPT; iptables -P OUTPUT DROP", killSwitch: .on, lan: .block),
      Case(
        lines: "PostUp = iptables -N KS\nPostUp = iptables -A KS -o %i -j RETURN; iptables -A KS -d 192.168.7.0/24 -j RETURN\n"
          + "PostUp = iptables -A KS -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT; iptables -A KS -j DROP\n"
          + "PostUp = iptables -I OUTPUT -j KS\nPostDown = iptables -D OUTPUT -j KS; iptables -F KS; iptables -X KS", killSwitch: .on),
      Case(
        lines: "PostUp = iptables -I OUTPUT ! -o %i ! -d 203.0.113.10 -j DROP; iptables -I OUTPUT -o lo -j ACCEPT",
        killSwitch: .on, lan: .block),
      Case(
        lines:
          "PostUp = nft insert rule inet filter output oifname != \"%i\" meta mark != $(wg show %i fwmark) fib daddr type != local counter reject",
        killSwitch: .on, lan: .block),
      Case(
        lines: "PostUp = nft add table inet ks; nft 'add chain inet ks out { type filter hook output priority 0; policy drop; }'; "
          + "nft add rule inet ks out oifname { lo, %i } accept; nft add rule inet ks out oifname %i accept; "
          + "nft add rule inet ks out ip daddr 203.0.113.10 udp dport 51820 accept\nPostDown = nft delete table inet ks",
        killSwitch: .on, lan: .block),
      Case(
        lines: "PostUp = nft 'add table inet ks; add chain inet ks o { type filter hook output priority filter; }; "
          + "add rule inet ks o oifname != %i mark != 51820 fib daddr type != local reject with icmpx type admin-prohibited'",
        killSwitch: .on, lan: .block),
      Case(
        lines:
          "PreUp = ufw default deny outgoing; ufw allow out on %i; ufw allow out to 203.0.113.10 port 51820 proto udp; ufw --force enable\n"
          + "PostDown = ufw delete allow out on %i; ufw default allow outgoing", killSwitch: .on, lan: .block),
      Case(
        lines:
          "PostUp = ufw default deny outgoing && ufw allow out on wg0 from any to any && ufw allow out to 192.168.1.0/24 && ufw reload",
        killSwitch: .on),
      Case(
        lines: "PostUp = firewall-cmd --direct --add-rule ipv4 filter OUTPUT 0 ! -o %i -m mark ! --mark $(wg show %i fwmark) -j REJECT",
        killSwitch: .on, lan: .block),
      Case(
        lines: "PostUp = iptables -A OUTPUT ! -o %i -d 10.77.0.0/16 -j REJECT", killSwitch: .on, isFull: false),
      Case(
        lines: "PostUp = iptables -A OUTPUT -o %i -j ACCEPT; iptables -A OUTPUT -p tcp --dport 22 -j ACCEPT; iptables -A OUTPUT -j DROP",
        killSwitch: .on, lan: .block, says: "some of what the file lets pass is blocked too"),
    ]) func killSwitches(_ test: Case) throws
  { try expect(test) }

  @Test(
    "a tunnel that would be another one without its programs is off",
    arguments: [
      Case(lines: "PostUp = iptables -I OUTPUT ! -o %i -m owner --uid-owner media -j REJECT", isEnabled: false, says: "kill-switch: on"),
      Case(lines: "PostUp = iptables -I OUTPUT ! -o %i -j REJECT", isEnabled: false, says: "kill-switch: on", isFull: false),
      Case(lines: "PostUp = iptables-restore /etc/iptables/vpn.rules", isEnabled: false, says: "are not understood"),
      Case(lines: "PostUp = nft -f /etc/wireguard/ks.nft", isEnabled: false, says: "are not understood"),
      Case(lines: "PostUp = nft insert rule inet filter output ip saddr 10.1.0.0/16 drop", isEnabled: false, says: "no key of a policy"),
      Case(lines: "PostDown = iptables -A OUTPUT -j DROP", isEnabled: false, says: "kill-switch: always"),
      Case(
        lines: "PostUp = iptables -t mangle -A OUTPUT -m owner --uid-owner media -j MARK --set-mark 42", isEnabled: false,
        says: "marks packets"),
      Case(lines: "PostUp = ip rule add from 10.77.3.2 table 123", isEnabled: false, says: "write `routes`"),
      Case(lines: "PostUp = ip route add 10.1.0.0/16 via 192.168.1.1 dev eth0", isEnabled: false, says: "exclude"),
      Case(lines: "PostUp = ip -4 route del default dev %i", isEnabled: false, says: "removes routes"),
      Case(
        lines: "PostUp = wg set %i peer \(Samples.peerKey) allowed-ips 10.0.0.0/8", isEnabled: false, says: "changes the tunnel's peers"),
      Case(lines: "PostUp = ip link set %i netns vpn", isEnabled: false, says: "what goes into the tunnel"),
      Case(lines: "Table = 1234", isEnabled: false, says: "`Table` names a table"),
      Case(lines: "Table = 1234\nPostUp = ip rule add from 10.77.3.2 lookup 1234", isEnabled: false, says: "`Table` names a table"),
    ]) func other(_ test: Case) throws
  { try expect(test) }

  @Test(
    "routes of the own link become `routes`, and what changes nothing is no warning",
    arguments: [
      Case(lines: "Table = off\nPostUp = ip route add 10.77.0.0/16 dev %i", include: ["10.77.0.0/16"]),
      Case(lines: "Table = off\nPostUp = ip -4 r replace default dev wg0 metric 50", include: ["0.0.0.0/0"]),
      Case(
        lines: "PostUp = ip route add 10.99.0.0/24 dev %i; ip route add 203.0.113.10 via 192.168.1.1",
        include: ["10.77.0.0/16", "10.99.0.0/24"],
        isFull: false),
      Case(lines: "Table = main", says: "tables of its own"),
      Case(
        lines: "PostUp = logger up; ping -c1 10.77.0.1\nPostDown = echo down >> /var/log/wg.log", says: "the same without it",
        weight: .plain),
      Case(lines: "PostUp = sysctl -w net.ipv4.conf.all.src_valid_mark=1", says: "what its tunnels need", weight: .plain),
      Case(
        lines:
          "PostUp = iptables -A FORWARD -i %i -j ACCEPT; iptables -t nat -A POSTROUTING -o eth0 -j MASQUERADE; sysctl -w net.ipv4.ip_forward=1\n"
          + "PostDown = iptables -D FORWARD -i %i -j ACCEPT; iptables -t nat -D POSTROUTING -o eth0 -j MASQUERADE",
        says: "other machines' packets is not taken over"),
      Case(lines: "PostUp = iptables -A INPUT -i %i -j DROP", says: "incoming packets"),
      Case(lines: "PostUp = ip6tables -P OUTPUT DROP; /etc/wireguard/up.sh", isEnabled: false),
      Case(lines: "PostUp = /etc/wireguard/up.sh %i", says: "sets name servers, routes or a kill switch"),
      Case(lines: "PostUp = if [ -e /run/x ]; then logger x; fi", says: "sets name servers, routes or a kill switch"),
      Case(lines: "PostUp = 'unfinished", says: "sets name servers, routes or a kill switch"),
    ]) func rest(_ test: Case) throws
  { try expect(test) }

  @Test("nothing of a command is shown: it may hold a secret") func secrets() throws {
    let result = try importing(
      Case(lines: "PostUp = wg set %i private-key <(echo \(Samples.presharedKey)); curl https://u:pw-77@x.example"))
    for secret in [Samples.presharedKey, "pw-77"] { #expect(!result.shownText.contains(secret)) }
  }

  @Test("any text is judged without a crash") func random() throws {
    let parts = [
      "resolvectl", "dns", "%i", "iptables", "-I", "OUTPUT", "!", "-o", "$(", ")", "`", "'", "\"", "\\", "|", "||", "&&", ";", ">", "<<<",
      "nft",
      "{", "}", "ufw", "default", "ip", "route", "add", "-j", "DROP", "\u{e9}", "--", "=", "bash", "-c", "printf", "%s",
    ]
    var state: UInt64 = 5
    func next(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }
    for _ in 0..<2000 {
      let text = (0..<(next(12) + 1)).map { _ in parts[next(parts.count)] }.joined(separator: next(2) == 0 ? " " : "")
      _ = try importing(Case(lines: "PostUp = \(text)"))
    }
  }

  @Test(
    "a file in another form is told by its name",
    arguments: [
      ([0xff, 0xfe, 0x5b, 0], "UTF-16"), ([0x50, 0x4b, 3, 4, 0], ".zip"), ([0x1f, 0x8b, 8], "compressed"),
      ([0x89, 0x50, 0x4e, 0x47], "QR code"),
      ([], "empty"),
    ] as [([UInt8], String)]) func otherForms(bytes: [UInt8], words: String) throws
  {
    let failure = #expect(throws: ImportFailure.self) { try importFile(bytes, file: "wg.conf", options: ImportOptions()) }
    let said = "\(failure?.message ?? "") \(failure?.help ?? "")"
    #expect(said.contains(words), "\(said)")
  }

  @Test(
    "an endpoint that wg accepts and that is refused here is explained",
    arguments: [("vpn.bücher.example:51820", "ASCII form"), ("[fe80::1%wlan0]:51820", "does not depend on a link")])
  func endpoints(endpoint: String, words: String) throws {
    let text = Samples.wireGuard.replacing("vpn.corp.example:51820", with: endpoint)
    let result = try importFile(Array(text.utf8), file: "corp.conf", options: ImportOptions())
    #expect(result.shownText.contains(words), "\(result.report.text)")
  }
}
