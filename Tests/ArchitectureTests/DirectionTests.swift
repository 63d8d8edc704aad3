import LinuxIO
import Testing

/// docs/architecture.md has a table of targets, with what each may import, and the order of folders of two of them. The sources keep to
/// both.
@Suite struct DirectionTests {
  /// A row of the table: targets of one kind, the ring that they are in, and what they may import.
  struct Row: Equatable {
    /// `nil`: in none.
    var ring: Int?
    var targets: [String]
    var allowed: String
  }

  static func rows(of text: String) -> [Row] {
    text.split(separator: "\n").filter { $0.hasPrefix("| ") }.compactMap { line in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map { $0.trimmed }
      guard cells.count == 4, !names(in: cells[1]).isEmpty else { return nil }
      return Row(ring: Int(cells[0]), targets: names(in: cells[1]), allowed: cells[3])
    }
  }

  /// What stands between backticks.
  static func names(in text: String) -> [String] {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
  }

  /// The targets that a cell allows: by name, by ring (`ring 0`, `rings 0, 1`, `rings 0 to 2`), or `all`.
  static func allowed(by cell: String, of rows: [Row]) -> Set<String> {
    if cell == "all" { return Set(rows.flatMap(\.targets)) }
    var found = Set(names(in: cell))
    guard let start = cell.firstRange(of: "ring") else { return found }
    let words = cell[start.upperBound...].split { !$0.isLetter && !$0.isNumber && $0 != "`" }
    var rings: [Int] = []
    for word in words.drop(while: { $0 == "s" }) {
      if let number = Int(word) {
        if rings.last == -1 { rings.removeLast(); rings += Array(((rings.last ?? 0) + 1)...number) } else { rings.append(number) }
      } else if word == "to" {
        rings.append(-1)
      } else {
        break
      }
    }
    found.formUnion(rows.filter { $0.ring.map(rings.contains) ?? false }.flatMap(\.targets))
    return found
  }

  @Test("each target imports what the table of docs/architecture.md allows, of our own") func imports() throws {
    let rows = Self.rows(of: try text("docs/architecture.md"))
    let own = Set(rows.flatMap(\.targets))
    #expect(own.count > 20)
    for row in rows {
      let allowed = Self.allowed(by: row.allowed, of: rows)
      for target in row.targets {
        let files = swiftFiles(in: sources(of: target))
        #expect(!files.isEmpty, "the table names a target that is not there: \(target)")
        for file in files {
          let found = Set(importedModules(in: String(decoding: try TextFile.read(file), as: UTF8.self))).intersection(own)
          #expect(found.subtracting(allowed) == [], "\(file) imports what the table does not allow \(target)")
        }
      }
    }
  }

  @Test("each target of ours in the manifest is in the table") func complete() throws {
    let own = Set(Self.rows(of: try text("docs/architecture.md")).flatMap(\.targets))
    let manifest = try text("Package.swift")
    for start in ["    pure(\"", "    rim(\"", "    engine(\"", "    provider(\""] {
      for piece in manifest.split(separator: start).dropFirst() {
        let name = String(piece.prefix { $0 != "\"" })
        #expect(own.contains(name), "docs/architecture.md does not say what \(name) may import")
      }
    }
  }

  /// The folders that the document lists behind `heading`, lowest first.
  static func folders(_ heading: String, in text: String) -> [String] {
    guard let start = text.firstRange(of: "**\(heading).**") else { return [] }
    let paragraph = text[start.upperBound...].split(separator: "\n\n").first ?? ""
    let list = paragraph.firstRange(of: ":").map { paragraph[$0.upperBound...] } ?? ""
    return names(in: String(list.prefix { $0 != "." }))
  }

  @Test(
    "folders use those before them alone",
    arguments: [("Folders of the core", "RoamwardCore"), ("Folders of the engine", "WireGuardEngine")])
  func order(heading: String, target: String) throws {
    let folders = Self.folders(heading, in: try text("docs/architecture.md"))
    let root = sources(of: target)
    let files = try swiftFiles(in: root).map { (path: $0, code: code(of: String(decoding: try TextFile.read($0), as: UTF8.self))) }
    let place = { (path: String) in String(path.dropFirst(root.count + 1).prefix { $0 != "/" }) }
    #expect(folders.count > 3)
    #expect(Set(files.map { place($0.path) }) == Set(folders), "the list in docs/architecture.md and the folders differ")
    #expect(Self.backward(files.map { (place($0.path), $0.path, $0.code) }, order: folders) == [])
  }

  /// The uses of a type in a folder that comes later.
  static func backward(_ files: [(folder: String, path: String, code: String)], order: [String]) -> [String] {
    var homes: [String: String] = [:]
    for file in files { for type in declaredTypes(in: file.code) { homes[type] = file.folder } }
    return files.flatMap { file in
      words(of: file.code).compactMap { word -> String? in
        guard let home = homes[word], let from = order.firstIndex(of: file.folder), let to = order.firstIndex(of: home), to > from else {
          return nil
        }
        return "\(file.path) uses \(word) of \(home)"
      }
    }
  }

  @Test("the check sees a row, each form of a ring, and a use that points backwards") func detector() {
    let rows = Self.rows(
      of:
        "| ring | target |\n| 0 | `A` | x | nothing |\n| 1 | `B`, `C` | x | ring 0 |\n| 2 | `D` | x | rings 0, 1, `E` |\n| | `E` | x | all |"
    )
    #expect(rows.map(\.targets) == [["A"], ["B", "C"], ["D"], ["E"]])
    #expect(rows.map { Self.allowed(by: $0.allowed, of: rows).sorted() } == [[], ["A"], ["A", "B", "C", "E"], ["A", "B", "C", "D", "E"]])
    #expect(Self.allowed(by: "rings 0 to 2", of: rows).sorted() == ["A", "B", "C", "D"])
    let low = code(of: "// High is\npackage struct Low { let a = \"High\"; let b: High }")
    let files = [("Low", "low", low), ("High", "high", "package enum High { case a }\nextension Low {}")]
    #expect(Self.backward(files, order: ["Low", "High"]) == ["low uses High of High"])
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try TextFile.read("\(PureRingsTests.root)/\(path)"), as: UTF8.self)
  }
}

/// The text without comments, and without what stands in string literals.
private func code(of text: String) -> String {
  text.split(separator: "\n").map { line -> Substring in
    let code = line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line
    return code
  }.map { $0.split(separator: "\"", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 0 }.map(\.element).joined() }
    .joined(separator: "\n")
}

/// The names of the types that a file declares for other files, outside of other types.
private func declaredTypes(in code: String) -> [String] {
  code.split(separator: "\n").compactMap { line in
    var words = line.split(separator: " ")[...]
    guard line.first != " ", line.first != "}" else { return nil }
    while let word = words.first, ["public", "package", "indirect", "final"].contains(word) { words.removeFirst() }
    guard let keyword = words.first, ["struct", "enum", "class", "protocol", "typealias"].contains(keyword) else { return nil }
    return words.dropFirst().first.map { String($0.prefix { $0.isLetter || $0.isNumber }) }
  }
}

/// The words that begin with a capital letter and follow no dot.
private func words(of code: String) -> Set<String> {
  var found = Set<String>()
  var word = ""
  var last: Character = " "
  var beforeWord: Character = " "
  for character in code + " " {
    if character.isLetter || character.isNumber || character == "_" {
      if word.isEmpty { beforeWord = last }
      word.append(character)
    } else {
      if beforeWord != ".", word.first?.isUppercase ?? false { found.insert(word) }
      word = ""
    }
    last = character
  }
  return found
}

extension StringProtocol {
  fileprivate var trimmed: String {
    var text = self[...]
    while text.first == " " { text.removeFirst() }
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
