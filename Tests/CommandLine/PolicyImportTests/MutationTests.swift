import Glibc
import PolicySource
import SeededRandom
import Testing

@testable import PolicyImport

/// Damages bytes: flips, cuts, copies, and pieces of the formats in the wrong place.
private struct Damage {
  var random: SplitMix64
  private let pieces = [
    "<dict>", "</dict>", "<array>", "</array>", "<key>Action</key>", "<string></string>", "<integer>-1</integer>", "<true/>",
    "<data>AA==</data>",
    "&amp;", "&a;", "<!--", "-->", "<![CDATA[", "]]>", "<!DOCTYPE a [", "\u{0}", "\r\n", "é", "🇩🇪", "\u{feff}", "<string>${x}</string>",
    "<key>OnDemandRules</key>", "<string>Allow</string>", "\\n", "[Peer]\n", "<ca>\n", "</ca>\n", "type=vpn\n", "99999999999999999999", "*",
    ".", ":*",
    "\u{1b}[2J",
  ].map { Array($0.utf8) }

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  mutating func apply(to bytes: inout [UInt8]) {
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      let i = Int.random(in: 0...bytes.count, using: &random)
      let j = min(bytes.count, i + Int.random(in: 0...40, using: &random))
      switch Int.random(in: 0..<6, using: &random) {
      case 0 where i < bytes.count: bytes[i] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes.removeSubrange(i..<j)
      case 2: bytes.insert(contentsOf: bytes[i..<min(j, i + 12)], at: Int.random(in: 0...bytes.count, using: &random))
      case 3 where Int.random(in: 0..<4, using: &random) == 0: bytes = Array(bytes.prefix(max(i, 1)))
      case 4: bytes.insert(.random(in: 0...255, using: &random), at: i)
      default: bytes.insert(contentsOf: pieces[Int.random(in: pieces.indices, using: &random)], at: i)
      }
    }
  }
}

/// `IMPORT_FUZZ=100000` asks for so many of each seed.
private let rounds = getenv("IMPORT_FUZZ").flatMap { Int(String(cString: $0)) } ?? 2_000

@Suite struct MutationTests {
  @Test("a value into which a key has slipped is shown without it; other values are shown as they are") func slipped() throws {
    for line in ["type=wiregue-key=\(Samples.privateKey)", "type=\(Samples.presharedKey.dropFirst(7))"] {
      let file = Array(Samples.nmWireGuard.replacing("type=wireguard", with: line).utf8)
      let failure = #expect(throws: ImportFailure.self) { try importFile(file, file: "a.nmconnection", options: ImportOptions()) }
      let words = try #require(failure).message
      #expect(words.contains("a connection of type `") && words.contains("…") && !words.contains(line.suffix(30).prefix(14)), "\(words)")
    }
    for plain in [
      "802-3-ethernet", "com.apple.vpn.managed.applayer", "IKEv2", "NEVPNOnDemandRuleConnect", "corp.example", "PayloadContent",
    ] {
      #expect(shownValue(plain) == plain)
    }
  }

  @Test("damaged files never trap, never show a secret, and make policies that load or none", arguments: [1, 2, 3, 4] as [UInt64])
  func damaged(seed: UInt64) throws {
    var damage = Damage(seed: seed)
    let originals = try [
      ("a.mobileconfig", fixture("trusted-office.mobileconfig")), ("b.mobileconfig", fixture("trusted-office.bplist")),
      ("c.mobileconfig", fixture("signed.mobileconfig")), ("d.conf", Array(Samples.wireGuard.utf8)),
      ("e.ovpn", Array(Samples.openVPN.utf8)),
      ("f.nmconnection", Array(Samples.nmWireGuard.utf8)), ("g.nmconnection", Array(Samples.nmPlugin.utf8)),
      ("h.json", Array(exportProfile(Generated.tunnel([]), networks: [], form: .declaration).text.utf8)),
    ]
    // Pieces of 14 characters stay recognisable after the few changes that are made.
    let secrets =
      ["not-a-real-secret"]
      + [Samples.privateKey, Samples.presharedKey].flatMap { key in
        stride(from: 0, through: key.utf8.count - 14, by: 5).map { String(key.dropFirst($0).prefix(14)) }
      }
    var providers = ImportOptions()
    providers.strongSwan = try installed("strongswan")
    providers.openVPN = try installed("openvpn")
    for round in 0..<rounds {
      // Half of them profiles in XML, where there is most to get wrong.
      let (name, original) = originals[round.isMultiple(of: 2) ? 0 : round / 2 % originals.count]
      var bytes = original
      damage.apply(to: &bytes)
      var result: ImportResult?
      var shown = ""
      do throws(ImportFailure) {
        result = try importFile(bytes, file: name, options: round % 4 == 2 ? providers : ImportOptions())
        shown = result?.report.text ?? ""
      } catch {
        shown = error.message + (error.help ?? "")
      }
      if secrets.contains(where: shown.contains) || shown.contains("\u{1b}") { Issue.record("seed \(seed), round \(round): \(shown)") }
      guard let result else { continue }
      guard round.isMultiple(of: 16) else { continue }
      for diagnostic in load(result.files).diagnostics where diagnostic.severity == .error {
        Issue.record("seed \(seed), round \(round): \(diagnostic.rendered())")
      }
    }
  }
}
