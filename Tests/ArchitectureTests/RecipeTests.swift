import Glibc
import LinuxIO
import Testing

/// The recipes of CONTRIBUTING.md lead to files that are there.
@Suite struct RecipeTests {
  @Test("each file that a recipe names is there") func files() throws {
    let text = String(decoding: try TextFile.read("\(PureRingsTests.root)/CONTRIBUTING.md"), as: UTF8.self)
    let start = try #require(text.firstRange(of: "\n## Recipes\n"))
    let recipes = try #require(text[start.upperBound...].split(separator: "\n## ").first)
    let paths = AreaTests.names(in: String(recipes)).filter { name in
      ["Sources/", "Tests/", "docs/", "Packages/", "packaging/", "scripts/", "examples/"].contains(where: name.hasPrefix)
    }
    #expect(paths.count > 20)
    for path in paths where !path.contains("NAME") && !path.contains("*") {
      #expect(access("\(PureRingsTests.root)/\(path)", F_OK) == 0, "\(path) is not there")
    }
  }
}
