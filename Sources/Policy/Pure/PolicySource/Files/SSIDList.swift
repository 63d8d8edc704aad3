package import NetworkTypes
import RoamwardCore

/// Reads a list of SSIDs: one per line, compared byte by byte. Lines that are blank or begin with `#` are ignored; `hex:4361666501` is
/// allowed.
///
/// White space at the ends of a line belongs to the SSID. A line that cannot be an SSID is left out, with a warning.
package func readSSIDList(_ text: [UInt8], file: String) -> (entries: Set<SSID>, diagnostics: [Diagnostic]) {
  let source = SourceText(file: file, bytes: text)
  var entries: Set<SSID> = []
  var problems = DiagnosticList()
  for (index, line) in byteLines(source.bytes).enumerated() {
    if line.first == UInt8(ascii: "#") || line.allSatisfy({ $0 == 0x20 || $0 == 9 }) { continue }
    let place = SourceLocation(file: file, line: index + 1, column: 1)
    guard let ssid = ssid(ofLine: line) else {
      problems.add(
        .warning, "this line is not an SSID of 1 to 32 bytes, and is left out", help: "`hex:` is followed by two digits a byte", at: place,
        in: source)
      continue
    }
    if line.first == 0x20 || line.last == 0x20 || line.last == 9 {
      let isAtEnd = line.last == 0x20 || line.last == 9
      let ends = line.first != 0x20 ? "end" : isAtEnd ? "beginning and the end" : "beginning"
      let isComment = line.drop { $0 == 0x20 || $0 == 9 }.first == UInt8(ascii: "#")
      problems.add(
        .warning, "the white space at the \(ends) of this line belongs to the SSID",
        help: isComment ? "a comment begins with `#` in the first column" : "remove it if that is not meant", at: place, in: source)
    }
    entries.insert(ssid)
  }
  return (entries, problems.sorted)
}

/// Parses the SSID in a file of one line, for hosts whose radio the kernel does not manage. An empty file means no Wi-Fi network.
package func parseSSIDFact(_ text: [UInt8]) -> Fact<SSID?> {
  guard let line = byteLines(text).first, !line.isEmpty else { return .known(nil) }
  guard let ssid = ssid(ofLine: line) else { return .unknown(reason: "the SSID file's first line is not an SSID of 1 to 32 bytes") }
  return .known(ssid)
}

/// Parses one line. Bytes that are not UTF-8 are used as they are.
private func ssid(ofLine line: ArraySlice<UInt8>) -> SSID? {
  if let text = String(validating: line, as: UTF8.self) { return SSID(text) }
  return SSID(bytes: Array(line))
}

/// Splits at LF and removes one CR before it.
func byteLines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
  bytes.split(separator: 10, omittingEmptySubsequences: false).map { $0.last == 13 ? $0.dropLast() : $0 }
}
