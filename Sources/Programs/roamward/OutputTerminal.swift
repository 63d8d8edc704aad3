import Glibc
import Terminal

/// The terminal that a descriptor leads to.
struct OutputTerminal {
  let columns: Int
  let rows: Int
  /// Use colours, unless the user disabled them (no-color.org).
  let isColored: Bool

  /// `nil`: the descriptor leads to no terminal.
  init?(_ descriptor: Int32 = STDOUT_FILENO) {
    guard isatty(descriptor) == 1 else { return nil }
    var size = winsize()
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
    columns = isKnown && size.ws_col > 0 ? Int(size.ws_col) : 80
    rows = isKnown && size.ws_row > 0 ? Int(size.ws_row) : 24
    isColored = (getenv("NO_COLOR")?.pointee ?? 0) == 0 && !Self.isDumb
  }

  /// Whether the terminal has no escape sequences.
  static var isDumb: Bool { getenv("TERM").map { String(cString: $0) == "dumb" } ?? true }
}

/// A line on standard error that says what a command waits for. It is shown on a terminal only, and removed at the end.
final class ProgressLine {
  private let terminal: OutputTerminal?
  private var isShown = false

  init() { terminal = OutputTerminal.isDumb ? nil : OutputTerminal(STDERR_FILENO) }

  /// Whether anybody sees it.
  var isVisible: Bool { terminal != nil }

  func show(_ text: String) {
    guard let terminal else { return }
    isShown = true
    writeRaw("\r\u{1b}[K\(escapedLine(text).prefix(terminal.columns - 1))", to: STDERR_FILENO)
  }

  func clear() {
    if isShown { writeRaw("\r\u{1b}[K", to: STDERR_FILENO) }
    isShown = false
  }

  deinit { clear() }
}
