import SeededRandom
import Testing

/// The steps of this machine in `explain --to`, compared with the kernel's treatment of the packet.
@Suite("An explained packet", .needsLab)
struct ExplainedTests {
  @Test("leaves by the link that is said, or not at all, with random tunnels, routes, rules and links", arguments: 1...6)
  func agreement(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let destinations = "10.77.0.1 10.77.5.1 10.77.6.1 10.99.0.1 192.0.2.9 198.51.100.1 198.51.100.23 203.0.113.10 203.0.113.80"
    let policy = corp.with("include: [10.77.0.0/16]", random.pick(["include: [10.77.0.0/16]", "include: [default]"]))
    let scene = try Scene(["corp.yaml": policy + (random.chance(0.5) ? "    kill-switch: on\n" : "")])
    let situations = (0..<4).map { _ in Self.situations[Int(random.next() % UInt64(Self.situations.count))] }
    let compare = "\"$tests/explained\" \(destinations) -- \"${explain[@]}\""
    let seen = try scene.run(
      """
      explain=("$bin/roamward" explain --policies "$policies" --policies "$scene/local" "${inputs[@]}" --state-dir "$scene/state")
      deaf() { on gateway nft 'table inet deaf { chain c { type filter hook input priority 0; udp dport 51820 drop; }; }'; }
      go cafe
      ip link add vpn0 type veth peer name vpn1
      ip link set vpn1 up
      ip link set vpn0 up arp off
      ip address add 10.66.0.2/24 dev vpn0
      take_everything
      start_agent
      tunnel_is corp connected
      \(situations.map { """
        echo '-- \($0.name)'
        \($0.begin)
        \(compare)
        \($0.end)
        """ }.joined(separator: "\n"))
      stop_agent
      """)
    var situation = ""
    var words: Set<String> = []
    for line in seen.lines.dropLast() {
      if line.hasPrefix("-- ") { situation = line; continue }
      let word = line.split(separator: " ").map(String.init)
      try #require(word.count >= 4, "\(line)")
      words.insert(word[2])
      // A tunnel that is not connected keeps what is led into its link.
      #expect(
        word[1] == word[2] || word[3] == "corp" && word[2] == "corp",
        "\(situation): of \(word[0]) it is said \(word[1]) (\(word[3])), and the kernel does \(word[2])\n\(policy)")
    }
    #expect(words.count > 1 && words.contains("local"), "\(seen)")
  }

  private struct Situation {
    let name: String
    let begin: String
    let end: String
  }

  private static let situations: [Situation] = [
    Situation(name: "connected", begin: ":", end: ":"),
    Situation(
      name: "the gateway does not answer",
      begin: """
        deaf
        roamward down corp >/dev/null
        tunnel_is corp disconnected
        roamward resume corp >/dev/null
        within 10 field_is corp state connecting
        sleep 0.5
        """,
      end: "on gateway nft delete table inet deaf; tunnel_is corp connected"),
    Situation(
      name: "down by hand", begin: "roamward down corp >/dev/null; tunnel_is corp disconnected",
      end: "roamward resume corp >/dev/null; tunnel_is corp connected"),
    Situation(
      name: "a more specific route of another program",
      begin: "ip route add 10.77.5.0/24 dev vpn0; ip route add 203.0.113.80/32 dev vpn0; sleep 0.5",
      end: "ip route del 10.77.5.0/24 dev vpn0; ip route del 203.0.113.80/32 dev vpn0; sleep 0.5"),
    Situation(
      name: "the table of another VPN",
      begin: "ip route add 10.77.6.0/24 dev vpn0 table 1234; ip rule add to 10.77.6.0/24 priority 50 lookup 1234; sleep 0.5",
      end: "ip rule del priority 50; ip route flush table 1234; sleep 0.5"),
    Situation(
      name: "an unreachable route of another program",
      begin: "ip route add unreachable 10.99.0.0/24; ip route add blackhole 192.0.2.0/24; sleep 0.5",
      end: "ip route del unreachable 10.99.0.0/24; ip route del blackhole 192.0.2.0/24; sleep 0.5"),
    Situation(
      name: "a link of another program loses its carrier",
      begin: "ip route add 10.99.0.0/24 dev vpn0; ip link set vpn1 down; sleep 0.5",
      end: "ip link set vpn1 up; ip route del 10.99.0.0/24 dev vpn0; sleep 0.5"),
    Situation(
      name: "no network", begin: "go nothing; sleep 1", end: "go cafe; tunnel_is corp connected"),
  ]
}
