import PolicySource
import RoamwardCore
import Testing

@testable import PolicyImport

@Suite("what a wg-quick file loses decides about its tunnel") struct WireGuardLossTests {
  /// A file with these lines more in [Interface].
  private func importing(_ lines: String, in text: String = plain) throws -> ImportResult {
    let text = text.replacing("[Interface]\n", with: "[Interface]\n\(lines)\n")
    return try importFile(Array(text.utf8), file: "corp.conf", options: ImportOptions())
  }

  private static let plain = Samples.wireGuard.replacing("PostUp = /usr/bin/logger started\n", with: "")

  @Test(
    "a file of AmneziaWG is off, and its keys are named",
    arguments: [
      "Jc = 4\nJmin = 40\nJmax = 70\nS1 = 76\nS2 = 125\nH1 = 416940063\nH2 = 2\nH3 = 3\nH4 = 4", "S1 = 76", "s3 = 9", "S4 = x",
      "H1 = 2", "H4 = 5-9", "H1 = 1\nH1 = 7", "I1 = <b 0xf6ab>", "J2 = <b 0x00>", "Itime = 60", "AdvancedSecurity = on",
    ]) func amnezia(_ lines: String) throws
  {
    let result = try importing(lines)
    let tunnel = try result.tunnel()
    #expect(!tunnel.isEnabled)
    #expect(result.says(.warning, "this is AmneziaWG, which this version does not speak"), "\(result.report.text)")
    #expect(!result.shownText.contains("does not know") && !result.shownText.contains("0xf6ab"))
    for line in lines.split(separator: "\n") {
      let key = try #require(line.split(separator: " ").first)
      #expect(result.report.entries.contains { $0.outcome == .dropped && $0.key.lowercased().hasSuffix(".\(key.lowercased())") })
    }
  }

  @Test(
    "junk packets alone are plain WireGuard",
    arguments: [
      "Jc = 4\nJmin = 40\nJmax = 70", "Jc = 4\nS1 = 0\nS2 = 0\nH1 = 1\nH2 = 2\nH3 = 3\nH4 = 4", "jc = 120\nI1 =", "AdvancedSecurity = off",
    ]) func junk(_ lines: String) throws
  {
    let result = try importing(lines)
    #expect(try result.tunnel().isEnabled, "\(result.report.text)")
    #expect(!result.report.hasErrors && result.says(.plain, "speaks plain WireGuard"), "\(result.report.text)")
  }

  @Test("a word that nobody knows stays unnamed") func unknown() throws {
    let result = try importing("Jx = 4")
    #expect(result.says(.error, "a line that wg-quick does not know") && !result.report.text.contains("Jx"))
    #expect(!result.shownText.contains("AmneziaWG"))
  }
}
