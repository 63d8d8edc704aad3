import LinuxIO
import Testing

/// Options that a manifest allows, and that its provider, its manual page or its tests could have forgotten.
@Suite struct ProviderOptionTests {
  /// A provider of this repository: the name of its manifest, its sources, its tests and its manual page.
  struct Provider: CustomStringConvertible {
    let name: String
    let sources: String
    let tests: String
    let page: String

    init(_ file: String) throws {
      name = String(file.prefix { $0 != "." })
      let isOurs = name == "roamward"
      let area = isOurs ? ("Sources/Gateway/Rim", "Tests/Gateway", "client") : ("Sources/Providers/Rim", "Tests/Providers", name)
      let folder = Folder.names(in: "\(PureRingsTests.root)/\(area.0)").first { $0.lowercased() == "\(area.2)provider" }
      let target = try #require(folder, "no folder in \(area.0) has the provider \(name)")
      sources = try ProviderOptionTests.text(of: "\(area.0)/\(target)")
      tests = try ProviderOptionTests.text(of: "\(area.1)/\(target)Tests")
      page = String(decoding: try TextFile.read("\(PureRingsTests.root)/docs/man/roamward-\(area.2).8.md"), as: UTF8.self)
    }

    var description: String { name }
  }

  static let manifests = Folder.names(in: "\(PureRingsTests.root)/packaging/providers").sorted()

  /// The files of a folder, one after the other.
  static func text(of folder: String) throws -> String {
    let path = "\(PureRingsTests.root)/\(folder)"
    return try Folder.names(in: path).filter { $0.hasSuffix(".swift") }.map {
      String(decoding: try TextFile.read("\(path)/\($0)"), as: UTF8.self)
    }.joined()
  }

  /// The properties of the schema in a manifest.
  static func options(in manifest: String) -> [String] {
    manifest.split(separator: "\n").drop { $0 != "  properties:" }.dropFirst().prefix { $0.hasPrefix("    ") }.compactMap { line in
      line.last == ":" && line.dropFirst(4).first != " " ? String(line.dropFirst(4).dropLast()) : nil
    }
  }

  /// The names that a source takes out of options.
  static func used(in source: String) -> [String] {
    source.split(separator: "options[\"", omittingEmptySubsequences: false).dropFirst().map { String($0.prefix { $0 != "\"" }) }
  }

  @Test("each option of a manifest is used, tested, and in the manual page; no other option is used", arguments: manifests)
  func complete(file: String) throws {
    let provider = try Provider(file)
    let manifest = String(decoding: try TextFile.read("\(PureRingsTests.root)/packaging/providers/\(file)"), as: UTF8.self)
    let options = Self.options(in: manifest)
    #expect(!options.isEmpty)
    for option in options {
      #expect(provider.sources.contains("\"\(option)\""), "\(provider) does not use \(option)")
      #expect(provider.tests.contains("\"\(option)\""), "no test of \(provider) sets \(option)")
      #expect(provider.page.contains("`\(option)`"), "the manual page of \(provider) has no \(option)")
    }
    for option in Self.used(in: provider.sources) {
      #expect(options.contains(option), "the manifest of \(provider) does not allow \(option)")
    }
  }

  @Test("the check sees options") func detector() {
    let manifest = "options:\n  properties:\n    a:\n      items:\n    b-c:\n      type: string\n  additionalProperties: false\n    d:\n"
    #expect(Self.options(in: manifest) == ["a", "b-c"])
    #expect(Self.used(in: "x options[\"a\"]?.b + options[c] + options[\"b-c\"]") == ["a", "b-c"])
  }
}
