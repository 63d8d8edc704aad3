internal import Glibc

extension StatusReport {
  /// What is in force in the place of policies with errors.
  package struct StandIn: Hashable, Sendable {
    /// The broken file; `nil`: all files are as they were.
    package var file: String?
    /// Where its first error is; `nil`: it is well, but goes with one that is not.
    package var line: Int?
    /// Since when what is in force was the last that was good, in seconds since 1970; `nil`: nothing of the file ever was.
    package var since: Int64?

    package init(file: String?, line: Int?, since: Int64?) {
      self.file = file
      self.line = line
      self.since = since
    }

    /// `/etc/roamward/policies/corp.yaml: broken at line 5; its last good version of 2026-03-01 14:03:20 is in force`.
    package var words: String {
      let date = localTime(since ?? 0)
      guard let file else { return "all policies are in force as they were when they were good last, on \(date)" }
      let trouble = line.map { "broken at line \($0)" } ?? "it goes with what is broken"
      return "\(file): \(trouble); "
        + (since == nil ? "it never was good, and is not in force" : "its last good version of \(date) is in force")
    }
  }
}

extension StatusReport.StandIn {
  var json: JSON { ["file": JSON(file), "line": JSON(line), "since": since.map { .integer($0) } ?? .null] }

  init(_ json: JSON) {
    self.init(file: json["file"]?.string, line: json["line"]?.integer.map(Int.init(clamping:)), since: json["since"]?.integer)
  }
}

/// A moment for people, in local time: `2026-03-01 14:03:20`.
package func localTime(_ seconds: Int64) -> String {
  var time = time_t(seconds)
  var parts = tm()
  localtime_r(&time, &parts)
  var buffer = [UInt8](repeating: 0, count: 32)
  let count = buffer.withUnsafeMutableBytes { strftime($0.baseAddress, $0.count, "%Y-%m-%d %H:%M:%S", &parts) }
  return String(decoding: buffer.prefix(count), as: UTF8.self)
}
