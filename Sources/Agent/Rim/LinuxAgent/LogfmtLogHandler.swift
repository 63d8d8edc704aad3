import AgentCore
internal import Glibc
internal import LinuxIO
import LinuxPlatform
package import Logging
internal import NetworkTypes

/// Writes one line for each entry to standard error: `level message key=value … reason=…`, keys sorted, values quoted if necessary.
///
/// Under systemd the line begins with the journal's priority (sd-daemon(3)) instead of time and level, which the journal has itself.
/// Entries with a MESSAGE_ID, and those of a tunnel, go to the journal's own socket, with their values as fields.
package struct LogfmtLogHandler: LogHandler {
  package var logLevel: Logger.Level
  package var metadata: Logger.Metadata = [:]
  private let isJournal: Bool

  package init(level: Logger.Level) {
    logLevel = level
    isJournal = getenv("JOURNAL_STREAM") != nil
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    var values = metadata.merging(event.metadata ?? [:]) { _, new in new }
    let identity = values.removeValue(forKey: JournalMessage.key).map { "\($0)" }
    let message = escaped(event.message.description)
    // The event's values come first, its reason last.
    let words = values.sorted { ($0.key == "reason" ? 1 : 0, $0.key) < ($1.key == "reason" ? 1 : 0, $1.key) }
      .map { "\($0.key)=\(quoted("\($0.value)"))" }
    let hasFields = identity != nil || values["tunnel"] != nil || values["reason"] != nil
    if isJournal, hasFields, journalEntry(([message] + words).joined(separator: " "), identity, values, event.level).send() { return }
    let head = isJournal ? "<\(event.level.journalPriority)>\(message)" : "\(timestamp()) \(event.level) \(message)"
    let line = Array((([head] + words).joined(separator: " ") + "\n").utf8)
    // One write for each line, so that lines of several programs do not mix.
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Writes to the journal, with fields such as `ROAMWARD_SITUATION=guarded`.
  private func journalEntry(_ line: String, _ identity: String?, _ values: Logger.Metadata, _ level: Logger.Level) -> JournalEntry {
    var entry = JournalEntry()
    entry.add("MESSAGE", line)
    if let identity { entry.add("MESSAGE_ID", identity) }
    entry.add("PRIORITY", String(level.journalPriority))
    entry.add("SYSLOG_IDENTIFIER", "roamwardd")
    for (key, value) in values.sorted(by: { $0.key < $1.key }) { entry.add("ROAMWARD_\(key)", escaped("\(value)")) }
    return entry
  }

  private func timestamp() -> String {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    var parts = tm()
    gmtime_r(&time.tv_sec, &parts)
    var buffer = [UInt8](repeating: 0, count: 32)
    let count = buffer.withUnsafeMutableBytes { strftime($0.baseAddress, $0.count, "%Y-%m-%dT%H:%M:%S", &parts) }
    let milliseconds = String(time.tv_nsec / 1_000_000 + 1000).dropFirst()
    return String(decoding: buffer.prefix(count), as: UTF8.self) + "." + milliseconds + "Z"
  }

  /// Quotes a value: external data cannot begin a new line or control a terminal.
  private func quoted(_ value: String) -> String {
    let isPlain = !value.isEmpty && isPrintable(value) && !value.unicodeScalars.contains { [" ", "\"", "="].contains($0) }
    if isPlain { return value }
    // The backslashes of what is escaped are no part of the value.
    let scalars = value.unicodeScalars.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
    return "\"" + escaped(String(String.UnicodeScalarView(scalars))) + "\""
  }
}

extension Logger.Level {
  /// `SD_*` of sd-daemon(3).
  fileprivate var journalPriority: Int {
    switch self {
    case .trace, .debug: 7
    case .info: 6
    case .notice: 5
    case .warning: 4
    case .error: 3
    case .critical: 2
    }
  }
}
