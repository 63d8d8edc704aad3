import PolicyFiles
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

  @Test("a file without any endpoint is off, wherever it lies", arguments: [nil, "corp.conf"]) func gateway(_ own: String?) throws {
    var options = ImportOptions()
    let text = Self.plain.replacing("Endpoint = vpn.corp.example:51820\n", with: "")
    options.own = own
    options.beside = own.map { [OutputFile(name: $0, bytes: Array(text.utf8), isSecret: true)] } ?? []
    let result = try importFile(Array(text.utf8), file: "corp.conf", options: options)
    #expect(result.tunnels.map(\.isEnabled) == [false], "\(result.report.text)")
    #expect(result.tunnels.first?.usesImportedFile == (own != nil))
    #expect(result.says(.warning, "no peer has an endpoint: this is a gateway's file, or not complete"), "\(result.report.text)")
  }

  @Test("one peer with an endpoint is enough") func oneEndpoint() throws {
    let other = "\n[Peer]\nPublicKey = \(Samples.presharedKey)\nAllowedIPs = 10.78.0.0/16\n"
    let result = try importFile(Array((Self.plain + other).utf8), file: "corp.conf", options: ImportOptions())
    #expect(try result.tunnel().isEnabled, "\(result.report.text)")
  }

  @Test("a connection of NetworkManager without an endpoint is off") func networkManager() throws {
    let text = Samples.nmWireGuard.replacing("endpoint=vpn.corp.example:51820\n", with: "")
    let result = try importFile(Array(text.utf8), file: "corp.nmconnection", options: ImportOptions())
    #expect(try !result.tunnel().isEnabled)
    #expect(result.says(.warning, "no peer has an endpoint"), "\(result.report.text)")
  }
}
