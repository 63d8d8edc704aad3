import NetworkTypes
import PolicyFiles
import RoamwardCore
import SeededRandom
import Testing

@testable import PolicySource

/// Damages bytes of a text: flips, cuts, copies, and pieces of the language in the wrong place.
private struct Damage {
  var random: SplitMix64
  private let pieces = [
    "&a ", "*a", "!!int ", "[", "]", "{", "}", ": ", "- ", "\n", "\t", "\"", "'", "|", ">", "? ", "---\n", "...\n", "#", "~", "\u{0}", "\r",
    "\u{feff}", "é", "🇩🇪", "unknown",
    "=", "[Peer]\n", "[Interface]\n", "PrivateKey = ", "%TAG", "\\x", "0x", "-1", "99999999999999999999", "\u{2028}", "<<: ",
    "version: 1\n",
  ].map { Array($0.utf8) }

  mutating func apply(to bytes: inout [UInt8]) {
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      let i = Int.random(in: 0...bytes.count, using: &random)
      let j = min(bytes.count, i + Int.random(in: 0...20, using: &random))
      switch Int.random(in: 0..<6, using: &random) {
      case 0 where i < bytes.count: bytes[i] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes.removeSubrange(i..<j)
      case 2: bytes.insert(contentsOf: bytes[i..<j], at: Int.random(in: 0...bytes.count, using: &random))
      case 3: bytes = Array(bytes.prefix(max(i, 1)))
      case 4: bytes.insert(.random(in: 0...255, using: &random), at: i)
      default: bytes.insert(contentsOf: pieces[Int.random(in: pieces.indices, using: &random)], at: i)
      }
    }
  }
}

@Suite struct MutationTests {
  @Test("10,000 damaged policies: no trap, every place inside the file, and no error means a set that holds together")
  func policies() {
    var damage = Damage(random: SplitMix64(seed: 1))
    for i in 0..<10_000 {
      var files = MemoryFiles(["/etc/p/corp.conf": Samples.wireGuard, "/etc/p/trusted.ssids": "Home\n"])
      var bytes = Array((Bool.random(using: &damage.random) ? Samples.policy : Samples.wholeLanguage).utf8)
      damage.apply(to: &bytes)
      files.files["/etc/p/1.yaml"] = .init(bytes: bytes)
      files.folders["/etc/p"] = .init(kind: .folder, mode: 0o755)
      let loaded = files.load()
      let lines = bytes.split(omittingEmptySubsequences: false) { $0 == 10 || $0 == 13 }.count
      for diagnostic in loaded.diagnostics {
        #expect(diagnostic.location.line >= 1 && diagnostic.location.line <= lines + 1 && diagnostic.location.column >= 1)
        #expect(!diagnostic.rendered().isEmpty)
      }
      if !loaded.hasErrors {
        let names = Set(loaded.policies.networks.map(\.name))
        #expect(loaded.policies.networks.allSatisfy { used(in: $0.condition).isSubset(of: names) })
        #expect(loaded.policies.tunnels.flatMap(\.onDemand.rules).allSatisfy { used(in: $0.match).isSubset(of: names) })
        for tunnel in loaded.policies.tunnels {
          let needsConnections = { (rule: Rule) in rule.action == .evaluateConnection && !tunnel.isForApps }
          #expect(tunnel.onDemand.rules.allSatisfy { needsConnections($0) == !$0.connections.isEmpty })
        }
        #expect(loaded.policies.tunnels.allSatisfy { $0.killSwitch == .off })
        guard i % 4 == 0 else { continue }
        files["/etc/p/1.yaml"] = PolicyPrinter.yaml(loaded.policies)
        let again = files.load()
        #expect(!again.hasErrors && again.policies.withoutPlaces == loaded.policies.withoutPlaces, "\(again.report)")
      }
    }
  }

  @Test("10,000 damaged WireGuard files: no trap, and no piece of a key in any message")
  func wireGuard() {
    var damage = Damage(random: SplitMix64(seed: 2))
    let secrets = [Samples.privateKey, Samples.presharedKey].flatMap { key in
      let characters = Array(key)
      return (0...(characters.count - 14)).map { String(characters[$0..<($0 + 14)]) }
    }
    for _ in 0..<10_000 {
      var bytes = Array(Samples.wireGuard.utf8)
      damage.apply(to: &bytes)
      let (configuration, diagnostics) = readWireGuardQuick(bytes, file: "f", mode: 0o644)
      #expect((configuration == nil) == diagnostics.contains { $0.severity == .error })
      let report = diagnostics.map { $0.rendered() }.joined()
      // The generator makes no more than one change in a key on average; pieces of 14 characters stay recognisable.
      if secrets.contains(where: report.contains) { Issue.record("a key shows in:\n\(report)") }
    }
  }

  @Test("5,000 damaged snapshots and SSID lists")
  func snapshots() {
    var damage = Damage(random: SplitMix64(seed: 3))
    let text =
      "version: 1\nprimary: w\nlinks:\n  w: { type: wifi, ssid: Cafe, addresses: [192.0.2.23/24], unknown: [dns-servers] }\n  e: { mtu: 1500, bssid: 02:00:5e:00:00:07, metered: true }\ncaptive-portal: unknown\nprobes: { https://a.example/: ok }\ntime: mon 09:30\npower: battery\n"
    for _ in 0..<5_000 {
      var bytes = Array(text.utf8)
      damage.apply(to: &bytes)
      let (snapshot, diagnostics) = readSnapshot(text: bytes, file: "f")
      #expect((snapshot == nil) == diagnostics.contains { $0.severity == .error })
      if let snapshot, let primary = snapshot.primary { #expect(snapshot.links.contains { $0.name == primary }) }
      _ = readSSIDList(bytes, file: "f")
      _ = parseSSIDFact(bytes)
      var other = NetworkSnapshot()
      _ = applySetting(String(decoding: bytes.prefix(40), as: UTF8.self), to: &other)
      _ = applyProbeAssumption(String(decoding: bytes.suffix(40), as: UTF8.self), to: &other)
    }
  }
}

private func used(in condition: Condition) -> Set<String> {
  switch condition {
  case .all(let parts), .any(let parts): parts.reduce(into: []) { $0.formUnion(used(in: $1)) }
  case .not(let part): used(in: part)
  case .network(let names): Set(names)
  default: []
  }
}
