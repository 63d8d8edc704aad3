internal import Glibc

/// The journal of a running gateway.
enum GatewayJournal {
  /// The most bytes of a line that are written. `plan` shows the whole of a longer one before it is done.
  private static let longest = 500

  /// Writes a line for the journal, which adds time and process.
  static func log(_ text: String) {
    let isLong = text.utf8.count > longest
    var line = Array("roamward-gateway: \(isLong ? "\(text.prefix(longest)) … (\(text.utf8.count) bytes)" : text)\n".utf8)
    line.withUnsafeMutableBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}

/// A trouble that is told once, and its end.
struct LastingTrouble {
  private(set) var text: String?

  init() {}

  /// Takes the present trouble, if any; returns whether it is another one than before.
  mutating func isNew(_ text: String?) -> Bool {
    guard text != self.text else { return false }
    self.text = text
    return true
  }
}
