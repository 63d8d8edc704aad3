internal import NetworkTypes
internal import RoamwardCore

/// The maximum size of a list of prefixes: 16 MiB, some 800,000 lines.
let prefixFileSizeLimit = 16 << 20

/// Parses a list of prefixes, one a line; `default` is everything. `#` begins a comment. `nil` if a line is none: a list that lacks a
/// destination would let it out of the tunnel.
func readPrefixList(_ text: [UInt8], file: String) -> (prefixes: [IPPrefix]?, diagnostics: [Diagnostic]) {
  let source = SourceText(file: file, bytes: text)
  var prefixes: [IPPrefix] = []
  var problems = DiagnosticList()
  for (index, line) in byteLines(source.bytes).enumerated() {
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 9 }
    let entry = line.prefix { $0 != UInt8(ascii: "#") }.drop(while: isBlank)
    guard let end = entry.lastIndex(where: { !isBlank($0) }) else { continue }
    let words = String(decoding: entry[...end], as: UTF8.self)
    let place = SourceLocation(file: file, line: index + 1, column: entry.startIndex - line.startIndex + 1)
    // Read once: there may be hundreds of thousands.
    let written = InterfaceAddress(words)
    guard let found = written.map({ [$0.onLinkPrefix] }) ?? parseDestination(words) else {
      problems.add(
        .error, "expected a prefix such as 10.0.0.0/8, or `default`", help: "a line has one; `#` begins a comment", at: place, in: source)
      continue
    }
    if let written, written.onLinkPrefix.address != written.address, let (message, help) = hostBitsWarning(words) {
      problems.add(.warning, message, help: help, at: place, in: source)
    }
    prefixes += found
  }
  return (problems.hasErrors ? nil : prefixes, problems.sorted)
}

/// A prefix; `default` is everything of both families.
func parseDestination(_ text: String) -> [IPPrefix]? {
  text == "default" ? IPAddress.Family.allCases.map { .everything($0) } : IPPrefix(text).map { [$0] }
}

/// The warning of a prefix whose address has bits beyond its length, with the cure.
func hostBitsWarning(_ text: String) -> (message: String, help: String)? {
  guard text.contains("/"), let written = InterfaceAddress(text), written.onLinkPrefix.address != written.address else { return nil }
  return (
    "\(text) is read as \(written.onLinkPrefix): the address has bits beyond the length",
    "write \(written.onLinkPrefix), or \(IPPrefix.host(written.address)) for this address alone"
  )
}
