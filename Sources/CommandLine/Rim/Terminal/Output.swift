internal import Glibc
internal import NetworkTypes
internal import PolicySource

/// Writes to standard output at once, with terminal control characters escaped. A closed pipe ends the program quietly; other write errors
/// end it with status 1.
package func write(_ text: String) { write(escaped(text, keepingLines: true), to: STDOUT_FILENO) }

package func write(_ lines: [String]) { write(lines.map { $0 + "\n" }.joined()) }

/// The same for standard error, where our own colours are kept.
package func writeError(_ text: String) { write(escapedButColors(text), to: STDERR_FILENO) }

/// Writes text that has its escape sequences from us alone: all else in it is escaped already.
package func writeRaw(_ text: String, to descriptor: Int32 = STDOUT_FILENO) { write(Array(text.utf8)[...], to: descriptor) }

/// Writes bytes as they are, for programs.
package func write(bytes: [UInt8]) { write(bytes[...], to: STDOUT_FILENO) }

/// One line of text without characters that can control a terminal.
package func escapedLine(_ text: String) -> String { escaped(text) }

/// Use colour on a terminal, unless the user disabled it (no-color.org).
package var usesColor: Bool { isatty(STDERR_FILENO) == 1 && getenv("NO_COLOR") == nil }

private func escapedButColors(_ text: String) -> String {
  guard usesColor else { return escaped(text, keepingLines: true) }
  var parts = [Substring(text)]
  for color in Diagnostic.colors {
    parts = parts.flatMap { part in Diagnostic.colors.contains(String(part)) ? [part] : part.splitKeeping(color) }
  }
  return parts.map { Diagnostic.colors.contains(String($0)) ? String($0) : escaped(String($0), keepingLines: true) }.joined()
}

extension Substring {
  /// Its parts, with each occurrence of the word as a separate part.
  fileprivate func splitKeeping(_ word: String) -> [Substring] {
    var parts: [Substring] = []
    var rest = self
    while let place = rest.firstRange(of: word) {
      parts += [rest[..<place.lowerBound], rest[place]]
      rest = rest[place.upperBound...]
    }
    return parts + [rest]
  }
}

private func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8)[...], to: descriptor) }

private func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) {
  var rest = bytes
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    if count <= 0 {
      let failure = errno
      if failure == EINTR { continue }
      if failure == EPIPE { exit(0) }
      if descriptor != STDERR_FILENO {
        writeError("\(programName): standard output: \(String(cString: strerror(failure)))\n")
      }
      exit(1)
    }
    rest = rest.dropFirst(count)
  }
}

/// The name under which the program was started.
private var programName: Substring { CommandLine.arguments.first?.split(separator: "/").last ?? "roamward" }
