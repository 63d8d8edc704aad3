import ArgumentParser
import ControlClient
import Glibc
import NetworkTypes
import PolicySource
import RoamwardCore

/// Writes to standard output at once, with terminal control characters escaped. A closed pipe ends the program quietly; other write errors
/// end it with status 1.
func write(_ text: String) { write(escaped(text, keepingLines: true), to: STDOUT_FILENO) }

/// The same for standard error, where our own colours are kept.
func writeError(_ text: String) { write(escapedButColors(text), to: STDERR_FILENO) }

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

/// Writes text that has its escape sequences from us alone: all else in it is escaped already.
func writeRaw(_ text: String, to descriptor: Int32 = STDOUT_FILENO) { write(Array(text.utf8)[...], to: descriptor) }

/// One line of text without characters that can control a terminal.
func escapedLine(_ text: String) -> String { escaped(text) }

/// Writes bytes as they are, for programs.
func write(bytes: [UInt8]) { write(bytes[...], to: STDOUT_FILENO) }

private func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8)[...], to: descriptor) }

private func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) {
  var rest = bytes
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    if count <= 0 {
      let failure = errno
      if failure == EINTR { continue }
      if failure == EPIPE { exit(0) }
      if descriptor != STDERR_FILENO { writeError("roamward: standard output: \(String(cString: strerror(failure)))\n") }
      exit(1)
    }
    rest = rest.dropFirst(count)
  }
}

/// Use colour on a terminal, unless the user disabled it (no-color.org).
var usesColor: Bool { isatty(STDERR_FILENO) == 1 && getenv("NO_COLOR") == nil }

/// The exit statuses, with the numbers of nmcli(1) where they exist there.
enum ExitStatus {
  static let interrupted = ExitCode(130)
  static let policyErrors = ExitCode(1)
  static let refused = ExitCode(1)
  static let usage = ExitCode(2)
  static let timedOut = ExitCode(3)
  static let noAgent = ExitCode(8)
}

/// `mon 14:03` in local time, the format of the start of a timeline.
func weekTime(_ timestamp: Timestamp) -> String {
  var time = time_t(timestamp.seconds)
  var parts = tm()
  localtime_r(&time, &parts)
  let days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
  func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
  return "\(days[Int(parts.tm_wday) % 7]) \(two(parts.tm_hour)):\(two(parts.tm_min))"
}
