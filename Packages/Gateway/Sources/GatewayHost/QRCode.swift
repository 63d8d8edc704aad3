internal import CQREncode
internal import Glibc

/// A text as a QR code for a terminal: two modules in each character, with the quiet zone of ISO/IEC 18004.
package enum QRCode {
  /// `nil`: the text is too long for a code.
  package static func text(_ content: String) -> String? {
    guard let code = QRcode_encodeString8bit(content, 0, QR_ECLEVEL_L) else { return nil }
    defer { QRcode_free(code) }
    let width = Int(code.pointee.width)
    guard let data = code.pointee.data else { return nil }
    func isDark(_ row: Int, _ column: Int) -> Bool {
      (0..<width).contains(row) && (0..<width).contains(column) && data[row * width + column] & 1 != 0
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
    // A code never stays in memory longer than needed: it may contain a private key.
    memset(data, 0, width * width)
    return lines.joined(separator: "\n") + "\n"
  }
}
