import Glibc
import LinuxIO
import TestSupport
import Testing

/// Areas use those before them alone. docs/architecture.md has what each may use, its README says what its targets are, and a picture
/// shows all of them. Folders of targets have rows too.
@Suite struct AreaTests {
  private let house = House.ours

  @Test("the manifest's table is read: an area, a kind, names, what they use, a line that goes on") func reading() {
    let small = House(
      manifest:
        "let house = \"\"\"\n  Low: x\n    pure A +fast\n    c COne CTwo\n  High: y\n    rim B: A\n        COne +but=x\n    tests BTests: B\n  Tests: z\n    tests All: B\n  \"\"\"\n"
    )
    #expect(small.areas == ["Low", "High"])
    #expect(small.rooms.map(\.name) == ["A", "COne", "CTwo", "B", "BTests", "All"])
    #expect(small.rooms[3].uses == ["A", "COne"] && small.uses(of: "High") == ["Low"])
    #expect(small.rooms.map(\.path).suffix(3) == ["Sources/High/Rim/B", "Tests/High/BTests", "Tests/All"])
    #expect(house.rooms.count > 150 && house.areas.count > 10)
  }

  @Test("the manifest is read at a glance") func length() throws {
    #expect(try text("Package.swift").split(separator: "\n", omittingEmptySubsequences: false).dropLast().count <= 320)
  }

  @Test("each target is where its area and kind say, and there is no other folder") func places() {
    for room in house.inside + house.rooms.filter({ ["Support", "Benchmarks"].contains($0.area) }) {
      #expect(access("\(PureRingsTests.root)/\(room.path)", F_OK) == 0, "\(room.path)")
    }
    #expect(Set(Folder.names(in: "\(PureRingsTests.root)/Sources")) == Set(house.areas))
    for area in house.areas {
      for ring in ["", "/Pure", "/Rim"] {
        let folder = "Sources/\(area)\(ring)"
        let names = Set(Folder.names(in: "\(PureRingsTests.root)/\(folder)")).subtracting(["README.md", "Pure", "Rim"])
        let known = house.rooms.filter { $0.path.hasPrefix("\(folder)/") && $0.path.dropFirst(folder.count + 1) == $0.name }.map(\.name)
        #expect(names == Set(known), "\(folder)")
      }
    }
  }

  /// The rows of the table in docs/architecture.md: an area, and the areas that it may use.
  static func rows(of text: String) -> [(area: String, uses: Set<String>)] {
    text.split(separator: "\n").filter { $0.hasPrefix("| [`") }.compactMap { line in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
      guard cells.count == 5, let area = names(in: String(cells[1])).first else { return nil }
      return (area, Set(names(in: String(cells[3]))))
    }
  }

  /// The words between backticks.
  static func names(in text: String) -> [String] {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
  }

  @Test("areas use those before them alone, and those that docs/architecture.md says") func uses() throws {
    let rows = Self.rows(of: try text("docs/architecture.md"))
    #expect(rows.map(\.area) == house.areas)
    for (number, row) in rows.enumerated() {
      let used = house.uses(of: row.area)
      #expect(used.subtracting(house.areas[..<number]) == [], "\(row.area) uses an area above it")
      if row.area != "Programs" { #expect(used == row.uses, "\(row.area)") }
    }
    #expect(Self.rows(of: "| [`A`](x) | y | nothing |\n| [`B`](x) | `C` | `A`, `C` |").map(\.uses) == [[], ["A", "C"]])
  }

  @Test("what a file imports is of an area that its own one may use") func imports() throws {
    for room in house.inside where !["c", "system", "tests"].contains(room.kind) {
      let allowed = house.uses(of: room.area).union([room.area])
      for file in swiftFiles(in: "\(PureRingsTests.root)/\(room.path)") {
        let areas = Set(importedModules(in: String(decoding: try TextFile.read(file), as: UTF8.self)).compactMap(house.area(of:)))
        #expect(areas.subtracting(allowed) == [], "\(file)")
      }
    }
  }

  @Test("each area's README says what its targets are, and what it may use", arguments: House.ours.areas) func readme(area: String) throws {
    let text = try text("Sources/\(area)/README.md")
    let targets = text.split(separator: "\n").prefix { !$0.hasPrefix("## ") }
    let rows = targets.filter { $0.hasPrefix("| `") }.compactMap { Self.names(in: String($0)).first }
    #expect(rows.sorted() == house.inside.filter { $0.area == area && $0.kind != "tests" }.map(\.name).sorted())
    let words = text.split { $0 == "\n" || $0 == " " }.joined(separator: " ")
    let start = try #require(words.firstRange(of: "It may use: ")).upperBound
    let sentence = String(words[start...].prefix { $0 != "." })
    if area != "Programs" { #expect(Set(Self.names(in: sentence)) == house.uses(of: area), "\(sentence)") }
    let prose = text.split(separator: "\n").filter { !$0.hasPrefix("|") && !$0.hasPrefix("#") }
    #expect(prose.count <= 6, "\(prose.count) lines")
  }

  /// The rows of the tables of folders: a folder, and the target that a line above its table names last.
  static func folderRows(in text: String, of targets: Set<String>) -> [(target: String, folder: String)] {
    var (found, target, isInTable): ([(target: String, folder: String)], String, Bool) = ([], "", false)
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
      if !line.hasPrefix("|") {
        isInTable = false
        target = names(in: line).last { targets.contains($0) } ?? target
      } else if line.hasPrefix("| folder |") {
        isInTable = true
      } else if isInTable, line.hasPrefix("| `"), let folder = names(in: line).first {
        found.append((target, folder))
      }
    }
    return found
  }

  /// The folders below a folder, by their paths in it.
  static func folders(below path: String) -> [String] {
    Folder.names(in: path).filter { access("\(path)/\($0)/.", F_OK) == 0 }.flatMap { name in
      [name] + folders(below: "\(path)/\(name)").map { "\(name)/\($0)" }
    }
  }

  @Test("each folder of a target has a row, in its area's README or in docs/architecture.md", arguments: House.ours.areas)
  func folders(area: String) throws {
    let rooms = house.inside.filter { $0.area == area && ["pure", "rim", "program"].contains($0.kind) }
    let present = rooms.flatMap { room in Self.folders(below: "\(PureRingsTests.root)/\(room.path)").map { "\(room.name)/\($0)" } }
    let targets = Set(house.inside.map(\.name))
    let own = Self.folderRows(in: try text("Sources/\(area)/README.md"), of: targets)
    let shared = Self.folderRows(in: try text("docs/architecture.md"), of: targets).filter { house.area(of: $0.target) == area }
    #expect((own + shared).map { "\($0.target)/\($0.folder)" }.sorted() == present.sorted())
  }

  @Test("rows of folders are read") func folderTables() {
    let text =
      "| target |\n|---|\n| `B` |\n\n## Folders of `A`, in `Low`\n\n| folder | x |\n|---|---|\n| `Low` | `B` |\n| `Low/Inner` | y |\n"
    let rows = Self.folderRows(in: text, of: ["A", "B"])
    #expect(rows.map(\.target) == ["A", "A"] && rows.map(\.folder) == ["Low", "Low/Inner"])
  }

  /// The arrows of the picture: from an area to each one that it uses, unless other arrows imply that.
  private var picture: String {
    let left: Set = ["C", "Base", "Programs"]
    let shown = house.areas.filter { !left.contains($0) }
    let uses = Dictionary(uniqueKeysWithValues: shown.map { ($0, house.uses(of: $0).subtracting(left)) })
    func reached(from area: String) -> Set<String> {
      (uses[area] ?? []).reduce(into: []) { $0.formUnion(reached(from: $1).union([$1])) }
    }
    let arrows = shown.flatMap { area in
      let direct = uses[area] ?? []
      let implied = direct.reduce(into: Set<String>()) { $0.formUnion(reached(from: $1)) }
      return direct.subtracting(implied).sorted().map { "  \(area) -> \($0)\n" }
    }
    return """
      digraph areas {
        rankdir = BT
        node [shape=box, style=rounded, fontname="sans-serif"]
        edge [arrowsize=0.7]
      \(shown.map { "  \($0)\n" }.joined())\(arrows.joined())}

      """
  }

  @Test("the picture shows the imports as they are (UPDATE_DOCS=1 draws it)") func drawn() throws {
    let folder = "\(PureRingsTests.root)/docs/images"
    if getenv("UPDATE_DOCS") != nil {
      try shell("printf '%s' '\(picture)' >'\(folder)/areas.dot' && dot -Tsvg -o '\(folder)/areas.svg' '\(folder)/areas.dot'")
    }
    #expect(try text("docs/images/areas.dot") == picture)
    let svg = try text("docs/images/areas.svg")
    func titles(_ text: String, _ kind: String) -> [String] {
      text.split(separator: "class=\"\(kind)\"").dropFirst().compactMap { part in
        part.split(separator: "<title>", maxSplits: 1).last?.split(separator: "</title>", maxSplits: 1).first
          .map { String($0).replacing("&#45;&gt;", with: " -> ") }
      }
    }
    let lines = picture.split(separator: "\n").map { $0.drop { $0 == " " } }
    #expect(Set(titles(svg, "edge")) == Set(lines.filter { $0.contains(" -> ") }.map(String.init)))
    #expect(titles(svg, "node").count == house.areas.count - 3)
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try TextFile.read("\(PureRingsTests.root)/\(path)"), as: UTF8.self)
  }
}
