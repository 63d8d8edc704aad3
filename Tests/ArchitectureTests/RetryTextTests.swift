import Glibc
import LinuxIO
import Testing

/// The texts that name `roamward up`. It starts a tunnel by hand and leaves a manual override, so no text names it for another attempt:
/// that is `roamward answer`, after which the rules stay in charge.
@Suite struct RetryTextTests {
  /// Sources that name the command, and what for.
  static let places = [
    "Sources/Agent/Rim/AgentCore/Drivers/ProviderRequests.swift": "a comment on the reason",
    "Sources/CommandLine/Pure/PolicyImport/Apple/OnDemandFields.swift": "what replaces Apple's override by a person",
    "Sources/CommandLine/Pure/PolicyImport/Apple/VPNPayload.swift": "what replaces Apple's override by a person",
    "Sources/CommandLine/Pure/PolicyImport/Output/ImportedTunnel.swift": "a tunnel without rules",
    "Sources/Programs/roamward/ImportBatch.swift": "a tunnel without rules",
    "Sources/Programs/roamward/TrustedNetworkOptions.swift": "a tunnel without rules",
  ]

  /// A text that tells a person to try again by hand.
  static func faults(in text: String) -> [Substring] {
    text.split(whereSeparator: \.isNewline).filter { line in
      ["then `roamward up", "after `roamward up", "; `roamward up"].contains { line.contains($0) }
        || line.contains("`roamward up")
          && ["starts it again", "starts again", "tries again", "asks again", "retr"].contains { line.contains($0) }
    }
  }

  @Test("no text of a provider, or of any other program, names `roamward up` as the way to try again") func sources() {
    let texts = allSources()
    #expect(texts.count > 500)
    let found = texts.filter {
      $0.text.contains("\u{60}roamward up\u{60}") || $0.text.contains("roamward up \\(") || $0.text.contains("(roamward up,")
    }
    #expect(Set(found.map(\.name)) == Set(Self.places.keys))
    for text in texts { #expect(Self.faults(in: text.text) == [], "\(text.name)") }
  }

  @Test("nor does a document") func documents() throws {
    let names =
      ["README.md"]
      + ["docs", "docs/how-to", "docs/man"].flatMap { folder in
        Folder.names(in: "\(PureRingsTests.root)/\(folder)").filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
      }
    #expect(names.count > 30)
    for name in names where name != "docs/complaints.md" {
      let text = String(decoding: try TextFile.read("\(PureRingsTests.root)/\(name)"), as: UTF8.self)
      #expect(Self.faults(in: text) == [], "\(name)")
    }
  }

  @Test(
    "the check sees such texts",
    arguments: [
      "the server refused the password; correct it, then `roamward up`", "| `auth-failed` | the password | after `roamward up` |",
      "and `roamward up office` starts it again.",
    ]) func detector(text: String)
  {
    #expect(!Self.faults(in: text).isEmpty)
  }
}
