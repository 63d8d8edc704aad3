/// A node of a parsed document. Scalars are text; `isPlain`: without quotes, so perhaps a number.
indirect enum ReportNode: Equatable, Sendable {
  case scalar(String, isPlain: Bool)
  case list([ReportNode])
  case mapping([Entry])

  struct Entry: Equatable, Sendable {
    var key: String
    var value: ReportNode
  }

  /// All texts of the node, keys included.
  var texts: [String] {
    switch self {
    case .scalar(let text, _): [text]
    case .list(let items): items.flatMap(\.texts)
    case .mapping(let entries): entries.flatMap { [$0.key] + $0.value.texts }
    }
  }

  /// The node in block style, which `json` replaces for files in JSON.
  var yaml: String {
    var lines: [String] = []
    write(into: &lines, indentation: "", first: "")
    return lines.map { $0 + "\n" }.joined()
  }

  /// `first`: what the first line has in the place of the indentation.
  private func write(into lines: inout [String], indentation: String, first: String) {
    switch self {
    case .mapping(let entries) where !entries.isEmpty:
      for (number, entry) in entries.enumerated() {
        let start = (number == 0 ? first : indentation) + Self.written(entry.key, isPlain: true) + ":"
        entry.value.writeValue(into: &lines, after: start, indentation: indentation + "  ")
      }
    case .list(let items) where !items.isEmpty:
      for (number, item) in items.enumerated() {
        item.write(into: &lines, indentation: indentation + "  ", first: (number == 0 ? first : indentation) + "- ")
      }
    default: lines.append(first + line)
    }
  }

  private func writeValue(into lines: inout [String], after start: String, indentation: String) {
    switch self {
    case .mapping(let entries) where !entries.isEmpty:
      lines.append(start)
      write(into: &lines, indentation: indentation, first: indentation)
    case .list(let items) where !items.isEmpty && !items.allSatisfy(\.isScalar):
      lines.append(start)
      write(into: &lines, indentation: indentation, first: indentation)
    default: lines.append("\(start) \(line)")
    }
  }

  private var isScalar: Bool { if case .scalar = self { true } else { false } }

  /// A scalar, a list of scalars, or something empty, on one line.
  private var line: String {
    switch self {
    case .scalar(let text, let isPlain): Self.written(text, isPlain: isPlain)
    case .list(let items): "[\(items.map(\.line).joined(separator: ", "))]"
    case .mapping: "{}"
    }
  }

  private static func written(_ text: String, isPlain: Bool) -> String {
    isPlain && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"\"'{}[],#&*!|>%@`".utf8.contains($0) } || text == Disclosure.mark
      || text == Disclosure.secretMark ? text : JSONText.quoted(text)
  }
}
