internal import CQREncode
internal import Glibc

/// A text as a QR code (ISO/IEC 18004).
package enum QRCode {
  /// Its modules by rows, without the quiet zone: `true` is dark. `nil`: the text is too long for a code.
  package static func modules(_ content: String) -> [[Bool]]? {
    guard let code = QRcode_encodeString8bit(content, 0, QR_ECLEVEL_L) else { return nil }
    defer { QRcode_free(code) }
    let width = Int(code.pointee.width)
    guard let data = code.pointee.data else { return nil }
    let rows = (0..<width).map { row in (0..<width).map { data[row * width + $0] & 1 != 0 } }
    // A code never stays in memory longer than needed: it may contain a private key.
    memset(data, 0, width * width)
    return rows
  }

  /// For a terminal: two modules in each character, with the quiet zone.
  package static func text(_ content: String) -> String? {
    guard let rows = modules(content) else { return nil }
    let width = rows.count
    func isDark(_ row: Int, _ column: Int) -> Bool {
      (0..<width).contains(row) && (0..<width).contains(column) && rows[row][column]
    }
    // Light modules are drawn: a terminal is dark, or its reader takes the inverse.
    var lines: [String] = []
    for row in stride(from: -2, to: width + 2, by: 2) {
      lines.append(
        (-2..<width + 2).map { column in
          switch (isDark(row, column), isDark(row + 1, column)) {
          case (false, false): "█"
          case (false, true): "▀"
          case (true, false): "▄"
          case (true, true): " "
          }
        }.joined())
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
