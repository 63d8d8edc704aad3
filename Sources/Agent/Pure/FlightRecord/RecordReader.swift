/// Reads the bytes of a segment. It never fails: what is damaged is left out and counted.
package struct RecordReader: Sendable {
  /// The entries in order; `nil`: a line that is damaged.
  package private(set) var entries: [TimedEntry?] = []
  /// Lines that are damaged, cut off or of another version.
  package private(set) var damaged = 0

  package init(_ bytes: [UInt8]) {
    entries.reserveCapacity(bytes.count / 160)
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let json = RecordLine.decode(line), let entry = TimedEntry(json) else {
        damaged += 1
        entries.append(nil)
        continue
      }
      entries.append(entry)
    }
  }
}
