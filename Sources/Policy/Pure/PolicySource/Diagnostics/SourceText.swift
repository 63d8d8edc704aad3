package import RoamwardCore

/// A file's bytes, split into lines, for places and excerpts. Columns count Unicode scalars; lines end at LF, CR or CRLF.
package struct SourceText: Sendable {
  package let file: String
  /// The bytes without a byte order mark.
  let bytes: [UInt8]
  private let lineStarts: [Int]
  /// Converts a line to its printable form, character for character. Replaces secrets.
  private let masking: @Sendable (String) -> String
  /// The number of characters before an excerpt that the masking needs.
  private let reach: Int

  package init(file: String, bytes: [UInt8], masking: @escaping @Sendable (String) -> String = { $0 }, reach: Int = .max) {
    self.file = file
    self.reach = reach
    self.bytes = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? Array(bytes.dropFirst(3)) : bytes
    self.masking = masking
    var starts = [0]
    for (i, byte) in self.bytes.enumerated() {
      let isCRLF = byte == 13 && i + 1 < self.bytes.count && self.bytes[i + 1] == 10
      if byte == 10 || (byte == 13 && !isCRLF) { starts.append(i + 1) }
    }
    lineStarts = starts
  }

  /// The lines with their numbers, without line ends.
  var lines: [(number: Int, text: String)] { lineStarts.indices.map { ($0 + 1, String(decoding: line($0), as: UTF8.self)) } }

  var start: SourceLocation { SourceLocation(file: file, line: 1, column: 1) }

  func location(ofByte offset: Int) -> SourceLocation {
    var low = 0
    var high = lineStarts.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if lineStarts[middle] <= offset { low = middle } else { high = middle }
    }
    let before = String(decoding: bytes[lineStarts[low]..<min(max(offset, lineStarts[low]), bytes.count)], as: UTF8.self)
    return SourceLocation(file: file, line: low + 1, column: before.unicodeScalars.count + 1)
  }

  /// The line of a place; of a long line, the part around the place. `nil` past the end or if the line is empty.
  func excerpt(at place: SourceLocation) -> Excerpt? {
    guard lineStarts.indices.contains(place.line - 1) else { return nil }
    let text = String(decoding: line(place.line - 1), as: UTF8.self)
    guard !text.isEmpty else { return nil }
    let offset = max(0, place.column - 1)
    let scalars = text.unicodeScalars
    guard scalars.count > 160 else { return Excerpt(text: masking(text), offset: offset) }
    let first = max(0, offset - 70)
    let start = first - min(first, reach)
    let part = masking(String(String.UnicodeScalarView(scalars.dropFirst(start).prefix(first - start + 140))))
    let window = part.unicodeScalars.dropFirst(first - start)
    let isCut = first + window.count < scalars.count
    let shown = (first > 0 ? "…" : "") + String(String.UnicodeScalarView(window)) + (isCut ? "…" : "")
    return Excerpt(text: shown, offset: offset - first + (first > 0 ? 1 : 0))
  }

  package func diagnostic(_ severity: Diagnostic.Severity, _ message: String, help: String? = nil, at place: SourceLocation) -> Diagnostic {
    Diagnostic(severity, message, help: help, at: place, excerpt: excerpt(at: place))
  }

  private func line(_ index: Int) -> ArraySlice<UInt8> {
    var end = index + 1 < lineStarts.count ? lineStarts[index + 1] : bytes.count
    while end > lineStarts[index], bytes[end - 1] == 10 || bytes[end - 1] == 13 { end -= 1 }
    return bytes[lineStarts[index]..<end]
  }
}
