import LinuxIO
import TestSupport
import Testing

/// The file `VERSION` has the version. Every other place has the same one.
@Suite struct VersionTests {
  static func version() throws -> String {
    let content = try text("VERSION")
    return String(content.prefix { $0 != "\n" })
  }

  /// The versions that follow a word, such as 1.2.3 in `roamward-1.2.3-linux`.
  static func versions(after word: String, in text: String) -> [String] {
    text.ranges(of: word).map { String(text[$0.upperBound...].prefix { $0.isNumber || $0 == "." }) }
      .filter { $0.split(separator: ".").count == 3 }
  }

  /// Whether a text has a version that is no part of a longer number, such as of an address.
  static func has(_ version: String, in text: String) -> Bool {
    func ends(_ character: Character?) -> Bool { character.map { !$0.isNumber && $0 != "." } ?? true }
    return text.ranges(of: version).contains { range in
      ends(text[..<range.lowerBound].last) && ends(text[range.upperBound...].first)
    }
  }

  @Test("VERSION is one line of three numbers") func form() throws {
    let version = try Self.version()
    let parts = version.split(separator: ".", omittingEmptySubsequences: false)
    #expect(parts.count == 3 && parts.allSatisfy { UInt($0) != nil })
    #expect(try Self.text("VERSION") == "\(version)\n")
  }

  @Test("one source has the version, as a constant") func sources() throws {
    let version = try Self.version()
    let found = allSources().filter { Self.has(version, in: $0.text) }
    #expect(found.map(\.name) == ["Sources/Base/Pure/NetworkTypes/ReleaseVersion.swift"])
    #expect(found.first?.text.contains("let releaseVersion = \"\(version)\"\n") == true)
    #expect(Self.has("0.2.0", in: "a 0.2.0\"") && !Self.has("0.2.0", in: "10.2.0.0 10.0.2.0/24"))
  }

  @Test("the packages have it") func packages() throws {
    let version = try Self.version()
    #expect(try Self.text("packaging/debian/changelog").hasPrefix("roamward (\(version)-"))
    #expect(try Self.text("packaging/roamward.spec").contains("\nVersion: %{release_version}\n"))
    #expect(try Self.text("scripts/package").contains("\nversion=$(<VERSION)\n"))
  }

  @Test("the container in which it is built has the Swift of .swift-version") func toolchain() throws {
    let swift = try Self.text(".swift-version").split(separator: "\n").joined()
    #expect(try Self.text(".devcontainer/Containerfile").contains("\nARG BASE=docker.io/library/swift:\(swift)-bookworm\n"))
  }

  @Test("the documents have it, and the changelog begins with what comes after it") func documents() throws {
    let version = try Self.version()
    let folders = ["docs", "docs/how-to", "docs/man"]
    let names =
      ["README.md", "CONTRIBUTING.md"]
      + folders.flatMap { folder in
        Folder.names(in: "\(PureRingsTests.root)/\(folder)").filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
      }
    let found = try names.flatMap { name in try Self.versions(after: "roamward-", in: Self.text(name)) }
    #expect(!found.isEmpty && found.allSatisfy { $0 == version }, "\(found)")
    #expect(Self.versions(after: "roamward-", in: "roamward-1.2.3-linux roamward-names") == ["1.2.3"])
    let headings = try Self.text("CHANGELOG.md").split(separator: "\n").filter { $0.hasPrefix("## ") }
    #expect(headings.first == "## Unreleased")
  }

  @Test("the programs print it, and nothing else", arguments: ["roamward", "roamwardd", "roamward-gateway"])
  func programs(name: String) throws {
    let version = try Self.version()
    #expect(try shell("'\(LinkedProgramsTests.folder)/\(name)' --version") == "\(version)\n")
  }

  @Test("the engine prints it with its ciphers") func engine() throws {
    let output = try shell("'\(LinkedProgramsTests.folder)/roamward-wireguard' --version --cipher libsodium")
    let version = try Self.version()
    #expect(output.hasPrefix("roamward-wireguard \(version)\n"), "\(output)")
  }

  static func text(_ path: String) throws -> String {
    String(decoding: try TextFile.read("\(PureRingsTests.root)/\(path)"), as: UTF8.self)
  }
}
