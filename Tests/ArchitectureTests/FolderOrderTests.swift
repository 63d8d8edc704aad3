import LinuxIO
import Testing

/// Folders of a target use one another in one direction. docs/architecture.md has the order of two targets.
@Suite struct FolderOrderTests {
  /// A Swift file of a target: the folder that it is in, its path, and its text without comments and literals.
  struct File {
    let folder: String
    let path: String
    let code: String
  }

  private static func files(of target: String) throws -> [File] {
    let root = sources(of: target)
    return try swiftFiles(in: root).map { path in
      let inner = path.dropFirst(root.count + 1)
      let folder = inner.contains("/") ? String(inner.prefix { $0 != "/" }) : ""
      return File(folder: folder, path: path, code: code(of: String(decoding: try TextFile.read(path), as: UTF8.self)))
    }
  }

  /// The folders that use others, with a use of each; files beside the folders may use all, and be used by all.
  static func uses(in files: [File]) -> [String: [String: String]] {
    var homes: [String: String] = [:]
    for file in files { for type in declaredTypes(in: file.code) { homes[type] = file.folder } }
    var uses: [String: [String: String]] = [:]
    for file in files where !file.folder.isEmpty {
      for word in words(of: file.code) {
        guard let home = homes[word], home != file.folder, !home.isEmpty else { continue }
        uses[file.folder, default: [:]][home] = "\(file.path) uses \(word)"
      }
    }
    return uses
  }

  /// The uses that close a circle.
  static func circles(in files: [File]) -> [String] {
    let uses = uses(in: files)
    func reached(from folder: String) -> Set<String> {
      var (found, open): (Set<String>, [String]) = ([], [folder])
      while let next = open.popLast() {
        for other in (uses[next] ?? [:]).keys where found.insert(other).inserted { open.append(other) }
      }
      return found
    }
    return uses.flatMap { folder, others in others.filter { reached(from: $0.key).contains(folder) }.map(\.value) }.sorted()
  }

  @Test(
    "folders of a target use one another in one direction",
    arguments: House.ours.inside.filter { ["pure", "rim", "program"].contains($0.kind) }.map(\.name))
  func direction(target: String) throws {
    let files = try Self.files(of: target)
    #expect(!files.isEmpty)
    #expect(Self.circles(in: files) == [])
  }

  /// The folders that the document lists behind `heading`, lowest first.
  static func folders(_ heading: String, in text: String) -> [String] {
    guard let start = text.firstRange(of: "**\(heading).**") else { return [] }
    let paragraph = text[start.upperBound...].split(separator: "\n\n").first ?? ""
    let list = paragraph.firstRange(of: ":").map { paragraph[$0.upperBound...] } ?? ""
    return AreaTests.names(in: String(list.prefix { $0 != "." }))
  }

  @Test(
    "folders use those before them alone",
    arguments: [("Folders of the core", "RoamwardCore"), ("Folders of the engine", "WireGuardEngine")])
  func order(heading: String, target: String) throws {
    let folders = Self.folders(heading, in: try text("docs/architecture.md"))
    let files = try Self.files(of: target)
    #expect(folders.count > 3)
    #expect(Set(files.map(\.folder)) == Set(folders), "the list in docs/architecture.md and the folders differ")
    let backward = Self.uses(in: files).flatMap { folder, others in
      others.filter { (folders.firstIndex(of: $0.key) ?? 0) > (folders.firstIndex(of: folder) ?? 0) }.map(\.value)
    }
    #expect(backward == [])
  }

  @Test("the check sees a use, and a circle") func detector() {
    let low = File(folder: "Low", path: "low", code: code(of: "// High is\npackage struct Low { let a = \"High\"; let b: High }"))
    let high = File(folder: "High", path: "high", code: "package enum High { case a }\nextension Other {}")
    #expect(Self.uses(in: [low, high]) == ["Low": ["High": "low uses High"]])
    #expect(Self.circles(in: [low, high]) == [])
    let back = File(folder: "High", path: "back", code: "struct Back { let low: Low }")
    #expect(Self.circles(in: [low, high, back]) == ["back uses Low", "low uses High"])
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
