import Glibc
import LinuxIO
import TestSupport
import Testing

/// docs/architecture.md names types; its last table has the file of each of them.
@Suite struct TypeIndexTests {
  private static let heading = "\n## Files of the named types\n"
  private static let path = "\(PureRingsTests.root)/docs/architecture.md"

  private static let kinds: Set = ["struct", "enum", "class", "protocol", "actor", "typealias"]

  /// The types that a file declares outside of others.
  static func types(in text: String) -> [String] {
    text.split(separator: "\n").compactMap { line in
      guard let first = line.first, !first.isWhitespace, first != "/", !line.hasPrefix("private"), !line.hasPrefix("fileprivate") else {
        return nil
      }
      let words = line.prefix { $0 != ":" && $0 != "<" && $0 != "{" && $0 != "=" }.split(separator: " ").map(String.init)
      guard let kind = words.firstIndex(where: kinds.contains) else { return nil }
      return words.dropFirst(kind + 1).first
    }
  }

  /// The files of each type of `Sources` by its name, and those of each name of a file.
  private func files() throws -> [String: [String]] {
    var found: [String: [String]] = [:]
    for room in House.ours.inside where ["pure", "rim", "program"].contains(room.kind) {
      for file in swiftFiles(in: "\(PureRingsTests.root)/\(room.path)") {
        let short = String(file.dropFirst("\(PureRingsTests.root)/Sources/".count))
        found[String(short.split(separator: "/").last ?? ""), default: []].append(short)
        for type in Self.types(in: String(decoding: try TextFile.read(file), as: UTF8.self)) { found[type, default: []].append(short) }
      }
    }
    return found
  }

  @Test("each type that docs/architecture.md names is in its table, with its file (UPDATE_DOCS=1 writes it)") func index() throws {
    let text = String(decoding: try TextFile.read(Self.path), as: UTF8.self)
    let prose = text.firstRange(of: Self.heading).map { String(text[..<$0.lowerBound]) } ?? text
    let files = try files()
    // Targets and their folders have tables of their own.
    let folders = House.ours.inside.flatMap { AreaTests.folders(below: "\(PureRingsTests.root)/\($0.path)") + [$0.name] }
    let named = Set(AreaTests.names(in: prose).map { $0.hasSuffix(".swift") ? $0 : String($0.prefix { $0 != "." && $0 != "(" }) })
      .subtracting(folders)
    let rows = named.sorted().compactMap { type in
      files[type].map { "| `\(type)` | \($0.sorted().map { "`\($0)`" }.joined(separator: ", ")) |" }
    }
    #expect(rows.count > 60)
    let table = "\(Self.heading)\nBelow `Sources`:\n\n| type | file |\n|---|---|\n\(rows.joined(separator: "\n"))\n"
    if getenv("UPDATE_DOCS") != nil { try TextFile.replace(Self.path, with: Array((prose + table).utf8), mode: 0o644) }
    let found = String(decoding: try TextFile.read(Self.path), as: UTF8.self)
    #expect(found == prose + table, "`UPDATE_DOCS=1 swift test --filter TypeIndexTests` writes it")
  }

  @Test("declarations of types are read") func declarations() {
    let text = "package struct A: B {\n  struct Inner {}\n}\nextension C {}\nfinal class D<E> {}\npackage enum F {\n/// struct G\n"
    #expect(Self.types(in: text + "private enum H {}\n") == ["A", "D", "F"])
  }
}
