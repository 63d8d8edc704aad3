import Testing

/// The table of docs/performance.md is what `Benchmarks/run` writes.
@Suite("The table of performance") struct PerformanceTableTests {
  private struct Table {
    var head: String
    /// The titles of its parts, in order.
    var parts: [String] = []
    /// The cells of its other rows.
    var rows: [[String]] = []
  }

  private static func table() throws -> Table {
    let lines = try VersionTests.text("docs/performance.md").split(separator: "\n").filter { $0.hasPrefix("|") }
    var table = Table(head: String(try #require(lines.first)))
    for line in lines.dropFirst(2) {
      let cells = line.dropFirst(2).dropLast(2).replacing("\\|", with: "\u{0}").split(separator: " | ", omittingEmptySubsequences: false)
        .map { $0.trimmingPrefix { $0 == " " } }
      if cells[0].hasPrefix("**") {
        table.parts.append(cells[0].split(separator: "**").first.map(String.init) ?? "")
      } else {
        table.rows.append(cells.map(String.init))
      }
    }
    return table
  }

  /// Part and title of each line that `Benchmarks/run --parts` prints: `  [name]='title'` in its text, in the order of its list.
  private static func titles() throws -> [String] {
    let lines = try VersionTests.text("Benchmarks/run").split(separator: "\n")
    let order = try #require(lines.first { $0.hasPrefix("order=(") }).dropFirst(7).dropLast().split(separator: " ")
    return try order.map { part in
      let line = try #require(lines.first { $0.hasPrefix("  [\(part)]=") }, "\(part) has no title")
      return String(line.dropFirst(part.count + 6).dropLast())
    }
  }

  @Test("each part is in the table, in the order of the benchmarks, and no other is") func parts() throws {
    let table = try Self.table()
    #expect(table.parts == (try Self.titles()))
    #expect(try VersionTests.text("Benchmarks/page").contains("\"\(table.head)\""))
  }

  @Test("each row says its work, our figure, its peer or why it has none, processor and day") func rows() throws {
    let rows = try Self.table().rows
    #expect(rows.count > 50)
    for row in rows {
      try #require(row.count == 9, "\(row)")
      #expect(!row[0].isEmpty && !row[3].isEmpty && !row[5].isEmpty && !row[7].isEmpty, "\(row)")
      #expect(row[8].count == 10 && row[8].hasPrefix("20"), "\(row)")
      // A ratio needs a figure of the peer.
      #expect(row[2].isEmpty || row[5].contains(where: \.isNumber), "\(row)")
    }
  }

  @Test("the document has one table") func onePlace() throws {
    let text = try VersionTests.text("docs/performance.md")
    #expect(text.split(separator: "\n").filter { $0.hasPrefix("|---") }.count == 1)
  }
}
