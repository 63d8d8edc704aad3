internal import NetworkTypes

/// The role of a part of a line; a terminal shows it as a colour.
package enum TextStyle: Equatable, Sendable {
  case plain, strong, good, busy, bad, faint

  /// The parameters of SGR (ECMA-48, 8.3.117); `nil`: none.
  var parameters: String? {
    switch self {
    case .plain: nil
    case .strong: "1"
    case .good: "32"
    case .busy: "33"
    case .bad: "1;31"
    case .faint: "2"
    }
  }
}

/// A line of text for people, in parts with a style each.
package struct StyledLine: Equatable, Sendable {
  package struct Part: Equatable, Sendable {
    package var text: String
    package var style: TextStyle
  }

  package var parts: [Part]
  /// The indentation of the lines that follow where the line is too long for the terminal.
  package var hang: Int

  package init(_ text: String = "", _ style: TextStyle = .plain, hang: Int = 0) {
    parts = text.isEmpty ? [] : [Part(text: text, style: style)]
    self.hang = hang
  }

  package func adding(_ text: String, _ style: TextStyle = .plain) -> StyledLine {
    var line = self
    if !text.isEmpty { line.parts.append(Part(text: text, style: style)) }
    return line
  }

  /// The text alone, with unprintable characters escaped.
  package var text: String { parts.map { escaped($0.text) }.joined() }

  /// The line for a terminal. `width`: the columns that it may take, `nil`: any number; a longer line is broken between words. Escape
  /// sequences come from styles alone: unprintable characters of the text are escaped.
  package func rendered(width: Int? = nil, isColored: Bool = false) -> String {
    let glyphs = parts.flatMap { part in escaped(part.text).map { Glyph(character: $0, style: part.style) } }
    return broken(glyphs, width: width).map { isColored ? colored($0) : String($0.map(\.character)) }.joined(separator: "\n")
  }

  private func broken(_ glyphs: [Glyph], width: Int?) -> [[Glyph]] {
    guard let width, width > hang + 8 else { return [glyphs] }
    var lines: [[Glyph]] = []
    var rest = glyphs[...]
    var indent = 0
    while true {
      var (columns, end) = (indent, rest.startIndex)
      while end < rest.endIndex, columns + rest[end].character.columns <= width {
        columns += rest[end].character.columns
        end += 1
      }
      let margin = Array(repeating: Glyph(character: " ", style: .plain), count: indent)
      if end == rest.endIndex { return lines + [margin + rest] }
      // A word that is longer than a line is broken where the line ends.
      let space = rest[...end].lastIndex { $0.character == " " }
      let isIndentation = rest[..<(space ?? rest.startIndex)].allSatisfy { $0.character == " " }
      let (stop, next) = isIndentation ? (end, end) : (space ?? end, (space ?? end) + 1)
      lines.append(margin + rest[..<stop])
      rest = rest[next...]
      indent = hang
    }
  }

  private func colored(_ glyphs: [Glyph]) -> String {
    var text = ""
    var style = TextStyle.plain
    for glyph in glyphs {
      if glyph.style != style {
        if style.parameters != nil { text += "\u{1b}[0m" }
        if let parameters = glyph.style.parameters { text += "\u{1b}[\(parameters)m" }
        style = glyph.style
      }
      text.append(glyph.character)
    }
    return style.parameters == nil ? text : text + "\u{1b}[0m"
  }
}

extension [StyledLine] {
  /// The lines for a terminal, each with its line feed.
  package func rendered(width: Int? = nil, isColored: Bool = false) -> String {
    map { $0.rendered(width: width, isColored: isColored) + "\n" }.joined()
  }
}

/// A character that a terminal shows, with its style.
private struct Glyph {
  var character: Character
  var style: TextStyle
}
