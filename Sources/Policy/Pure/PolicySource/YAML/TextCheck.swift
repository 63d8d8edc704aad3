/// The maximum size of a file: 1 MiB.
package let fileSizeLimit = 1 << 20

/// Reasons why bytes cannot be read as text: too many bytes, not UTF-8, or invisible characters. The first of each kind.
func textProblems(_ source: SourceText) -> [Diagnostic] {
  if source.bytes.count > fileSizeLimit {
    let place = source.location(ofByte: fileSizeLimit)
    return [Diagnostic(.error, "the file is larger than 1 MiB", help: "split it into several files", at: place)]
  }
  var problems: [Diagnostic] = []
  if let offset = firstInvalidUTF8(source.bytes) {
    problems.append(
      source.diagnostic(
        .error, "this is not UTF-8 text", help: "save the file as UTF-8; write an SSID that is not text as hex:…",
        at: source.location(ofByte: offset)))
  }
  if let offset = firstControlCharacter(source.bytes) {
    let name = source.bytes[offset] == 0 ? "a NUL byte" : "a control character"
    problems.append(
      source.diagnostic(
        .error, "\(name) is not allowed here", help: "remove it; write an SSID with such bytes as hex:…",
        at: source.location(ofByte: offset)))
  }
  return problems
}

private func firstInvalidUTF8(_ bytes: [UInt8]) -> Int? {
  if String(validating: bytes, as: UTF8.self) != nil { return nil }
  var parser = Unicode.UTF8.ForwardParser()
  var iterator = bytes.makeIterator()
  var offset = 0
  while true {
    switch parser.parseScalar(from: &iterator) {
    case .valid(let scalar): offset += scalar.count
    case .error: return offset
    case .emptyInput: return nil
    }
  }
}

/// C0 except tab and line ends, DEL, C1, the separators U+2028 and U+2029 (line ends in YAML, but not in editors), and byte order marks.
private func firstControlCharacter(_ bytes: [UInt8]) -> Int? {
  for (i, byte) in bytes.enumerated() {
    func follows(_ next: UInt8...) -> Bool { bytes[(i + 1)...].starts(with: next) }
    switch byte {
    case 9, 10, 13: continue
    case 0..<0x20, 0x7f: return i
    case 0xc2 where i + 1 < bytes.count && (0x80..<0xa0).contains(bytes[i + 1]): return i
    case 0xe2 where follows(0x80, 0xa8) || follows(0x80, 0xa9): return i
    case 0xef where follows(0xbb, 0xbf) || follows(0xbf, 0xbe) || follows(0xbf, 0xbf): return i
    default: continue
    }
  }
  return nil
}

/// True if a value contains control characters other than tab and newline, which escapes in quotes can produce.
func holdsControlCharacters(_ text: String) -> Bool {
  text.unicodeScalars.contains {
    ($0.value < 0x20 && $0 != "\t" && $0 != "\n") || (0x7f..<0xa0).contains($0.value) || $0.value == 0x2028 || $0.value == 0x2029
  }
}
