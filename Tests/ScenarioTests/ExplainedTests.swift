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
    let seen = try scene.play(
      "Explained/agreement", with: ["DESTINATIONS": destinations, "SITUATIONS": situations.joined(separator: "\n")])
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

  private static let situations = [
    "connected", "the gateway does not answer", "down by hand", "a more specific route of another program", "the table of another VPN",
    "an unreachable route of another program", "a link of another program loses its carrier", "no network",
  ]
}
