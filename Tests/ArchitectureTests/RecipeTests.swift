import Glibc
import LinuxIO
import TestSupport
import Testing

/// The recipes of CONTRIBUTING.md lead to files that are there, and name each file that following them touches (`scripts/recipes`).
@Suite struct RecipeTests {
  /// A recipe that `Tests/Recipes` follows: one patch for each numbered step.
  struct Followed {
    let name: String
    /// The first words of the recipe in CONTRIBUTING.md.
    let title: String
    /// The names of the patches, in order.
    let patches: [String]

    init(_ name: String) throws {
      let folder = "\(RecipeTests.folder)/\(name)"
      let lines = String(decoding: try TextFile.read("\(folder)/recipe"), as: UTF8.self).split(separator: "\n")
      self.name = name
      title = try #require(lines.first { $0.hasPrefix("recipe: ") }.map { String($0.dropFirst("recipe: ".count)) }, "\(name)")
      patches = Folder.names(in: folder).filter { $0.hasSuffix(".patch") }.sorted()
    }

    func path(of patch: String) -> String { "\(RecipeTests.folder)/\(name)/\(patch)" }

    /// The files that a patch changes or adds.
    func files(of patch: String) throws -> [String] {
      String(decoding: try TextFile.read(path(of: patch)), as: UTF8.self).split(separator: "\n").compactMap { line in
        line.hasPrefix("+++ b/") ? String(line.dropFirst("+++ b/".count)) : nil
      }
    }
  }

  static let folder = "\(PureRingsTests.root)/Tests/Recipes"
  static let followed = Folder.names(in: folder).sorted()

  static func recipes() throws -> String {
    let text = String(decoding: try TextFile.read("\(PureRingsTests.root)/CONTRIBUTING.md"), as: UTF8.self)
    let start = try #require(text.firstRange(of: "\n## Recipes\n"))
    return String(try #require(text[start.upperBound...].split(separator: "\n## ").first))
  }

  /// The numbered steps of the recipe that begins so; none if there is no such recipe.
  static func steps(of title: String, in recipes: String) -> [String] {
    guard let start = recipes.firstRange(of: "\n\(title)") else { return [] }
    var steps: [String] = []
    for line in recipes[start.upperBound...].split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("**") || line.hasPrefix("## ") { break }
      if line.hasPrefix("\(steps.count + 1). ") {
        steps.append(String(line))
      } else if line.hasPrefix("   "), !steps.isEmpty {
        steps[steps.count - 1] += "\n" + line
      }
    }
    return steps
  }

  /// Whether a name in a step is the file's, or that of a folder above it; NAME stands for any letters.
  static func covers(_ name: String, _ file: String) -> Bool {
    if name.hasSuffix("/") { return file.hasPrefix(name) }
    let parts = name.split(separator: "NAME", omittingEmptySubsequences: false)
    guard parts.count == 2, file.hasPrefix(parts[0]), file.hasSuffix(parts[1]), file.count > name.count - "NAME".count else {
      return name == file
    }
    return !file.dropFirst(parts[0].count).dropLast(parts[1].count).contains("/")
  }

  @Test("each file that a recipe names is there") func files() throws {
    let paths = AreaTests.names(in: try Self.recipes()).filter { name in
      ["Sources/", "Tests/", "docs/", "Packages/", "packaging/", "scripts/", "examples/"].contains(where: name.hasPrefix)
    }
    #expect(paths.count > 20)
    for path in paths where !path.contains("NAME") && !path.contains("*") {
      #expect(access("\(PureRingsTests.root)/\(path)", F_OK) == 0, "\(path) is not there")
    }
  }

  /// The added lines of the manifest that stand within another entry, which goes on after them.
  static func cuts(in patch: String) -> [String] {
    var (file, found): (Substring, [String]) = ("", [])
    let lines = patch.split(separator: "\n")
    for (line, next) in zip(lines, lines.dropFirst()) {
      if line.hasPrefix("+++ b/") { file = line.dropFirst("+++ b/".count) }
      guard file == "Package.swift", line.hasPrefix("+    "), !line.hasPrefix("+     "), next.hasPrefix("         ") else { continue }
      found.append(String(line))
    }
    return found
  }

  @Test("no patch of a recipe cuts an entry of the manifest in two", arguments: followed) func manifest(name: String) throws {
    let recipe = try Followed(name)
    for patch in recipe.patches { #expect(Self.cuts(in: String(decoding: try TextFile.read(recipe.path(of: patch)), as: UTF8.self)) == []) }
    let entry = "+++ b/Package.swift\n     rim A: B\n+    rim C: D\n"
    #expect(Self.cuts(in: entry + "         E\n") == ["+    rim C: D"] && Self.cuts(in: entry + "     rim F: G\n") == [])
  }

  @Test("each step of a recipe that is followed has a patch, and names each file of it", arguments: followed)
  func steps(name: String) throws {
    let recipe = try Followed(name)
    let steps = Self.steps(of: recipe.title, in: try Self.recipes())
    #expect(!steps.isEmpty && recipe.patches.count == steps.count, "\(recipe.title): \(steps.count) steps")
    for (number, (patch, step)) in zip(recipe.patches, steps).enumerated() {
      #expect(patch.hasPrefix("0\(number + 1)-"), "\(patch)")
      let files = try recipe.files(of: patch)
      #expect(!files.isEmpty, "\(patch)")
      let names = AreaTests.names(in: step)
      for file in files { #expect(names.contains { Self.covers($0, file) }, "\(name): step \(number + 1) does not name \(file)") }
    }
  }

  @Test("the patches of each recipe apply, one after the other (after a change of their surroundings, make them anew)", arguments: followed)
  func applies(name: String) throws {
    let recipe = try Followed(name)
    let folder = try TemporaryFolder()
    let root = PureRingsTests.root
    for patch in recipe.patches {
      let copies = try recipe.files(of: patch).filter { access("\(root)/\($0)", F_OK) == 0 && access("\(folder.path)/\($0)", F_OK) != 0 }
      if !copies.isEmpty { try shell("cd '\(root)' && cp --parents \(copies.map { "'\($0)'" }.joined(separator: " ")) '\(folder.path)'") }
      try shell("cd '\(folder.path)' && git apply '\(recipe.path(of: patch))'")
    }
  }

  @Test("the check reads the steps of one recipe") func detector() {
    let text = "\n**A b** of `c`:\n\n1. `a/NAME.swift`: x,\n   y.\n2. `b/`.\n\nMore.\n\n**A d**:\n\n1. `e`\n"
    #expect(Self.steps(of: "**A b** of `c`", in: text) == ["1. `a/NAME.swift`: x,\n   y.", "2. `b/`."])
    #expect(Self.steps(of: "**A e**", in: text) == [])
    #expect(Self.covers("a/NAME.swift", "a/B.swift") && Self.covers("b/", "b/c/d") && Self.covers("e", "e"))
    #expect(!Self.covers("a/NAME.swift", "a/.swift") && !Self.covers("a/NAME.swift", "a/b/c.swift") && !Self.covers("e", "ef"))
  }
}
