import RoamwardCore

/// One line of a wg-quick file that is not empty.
struct WireGuardQuickLine {
  enum Content {
    /// `[Interface]` or `[Peer]`, in lower case and without brackets.
    case section(String)
    /// `Key = Value`, trimmed, without a comment.
    case setting(key: String, Value)
    /// Anything else.
    case nonsense
  }

  /// A text and its place.
  struct Value {
    let text: String
    let place: SourceLocation
  }

  let content: Content
  let place: SourceLocation
}

extension WireGuardQuickLine {
  /// The lines of a file that are not blank, without their comments.
  static func lines(of source: SourceText) -> [WireGuardQuickLine] {
    source.lines.compactMap { number, text in
      let code = text.prefix { $0 != "#" }
      guard let first = code.firstIndex(where: { $0 != " " && $0 != "\t" }) else { return nil }
      func place(_ index: Substring.Index) -> SourceLocation {
        SourceLocation(file: source.file, line: number, column: code.unicodeScalars.distance(from: code.startIndex, to: index) + 1)
      }
      let all = trimmed(code)
      if all.hasPrefix("["), all.hasSuffix("]") {
        return WireGuardQuickLine(content: .section(trimmed(all.dropFirst().dropLast()).lowercased()), place: place(first))
      }
      guard let equals = code.firstIndex(of: "=") else { return WireGuardQuickLine(content: .nonsense, place: place(first)) }
      let rest = code[code.index(after: equals)...]
      let start = rest.firstIndex { $0 != " " && $0 != "\t" } ?? rest.endIndex
      let value = Value(text: trimmed(rest), place: place(start))
      return WireGuardQuickLine(content: .setting(key: trimmed(code[..<equals]), value), place: place(first))
    }
  }
}

extension WireGuardQuickLine.Value {
  /// The parts of a comma-separated list, each with its place; empty parts are left out.
  var items: [WireGuardQuickLine.Value] {
    var column = place.column
    return text.split(separator: ",", omittingEmptySubsequences: false).compactMap { part in
      let leading = part.prefix { $0 == " " || $0 == "\t" }.unicodeScalars.count
      let start = SourceLocation(file: place.file, line: place.line, column: column + leading)
      column += part.unicodeScalars.count + 1
      let item = trimmed(part)
      return item.isEmpty ? nil : WireGuardQuickLine.Value(text: item, place: start)
    }
  }
}
