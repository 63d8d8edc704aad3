/// The violations of OpenMetrics 1.0 in a text, as far as gauges, counters, info metrics and histograms go.
package func openMetricsViolations(in text: String) -> [String] {
  var check = OpenMetricsCheck()
  if !text.hasSuffix("# EOF\n") { check.found.append("no end") }
  for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() { check.take(String(line)) }
  return check.found
}

private struct OpenMetricsCheck {
  var found: [String] = []
  private var families = Set<String>()
  private var samples = Set<String>()
  private var family = ""
  private var type = ""
  private var hasHelp = false
  private var hasEnded = false

  private static let suffixes = [
    "gauge": [""], "counter": ["_total"], "info": ["_info"], "histogram": ["_bucket", "_sum", "_count"],
  ]

  mutating func take(_ line: String) {
    if hasEnded { found.append("after the end: \(line)") }
    let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
    switch words.prefix(2) {
    case ["#", "EOF"]: hasEnded = true
    case ["#", "HELP"] where words.count == 4: begin(words[2], isHelp: true, words[3])
    case ["#", "TYPE"] where words.count == 4: begin(words[2], isHelp: false, words[3])
    default: sample(line)
    }
  }

  private mutating func begin(_ name: String, isHelp: Bool, _ text: String) {
    if name != family {
      if !families.insert(name).inserted { found.append("twice: \(name)") }
      (family, type, hasHelp) = (name, "", false)
    } else if isHelp ? hasHelp : !type.isEmpty {
      found.append("twice: \(name)")
    }
    let isName =
      !name.isEmpty && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") } && !(name.first?.isNumber ?? true)
    if !isName { found.append("no name: \(name)") }
    for suffix in ["_total", "_info", "_created", "_count", "_bucket"] where name.hasSuffix(suffix) { found.append("reserved: \(name)") }
    if isHelp {
      hasHelp = true
      if text.last != "." { found.append("no sentence: \(text)") }
    } else {
      type = text
      if Self.suffixes[text] == nil { found.append("no type: \(text)") }
    }
  }

  private mutating func sample(_ line: String) {
    guard let name = line.firstIndex(where: { $0 == "{" || $0 == " " }), hasHelp, let suffixes = Self.suffixes[type] else {
      return found.append("no sample: \(line)")
    }
    if !suffixes.contains(where: { line[..<name] == family + $0 }) { found.append("not of \(family): \(line)") }
    var rest = line[name...]
    if rest.first == "{" { rest = labels(rest) ?? "" }
    guard rest.first == " ", Double(rest.dropFirst()) != nil else { return found.append("no value: \(line)") }
    if !samples.insert(String(line[..<rest.startIndex])).inserted { found.append("twice: \(line)") }
  }

  /// The rest after the labels; `nil` if they are none.
  private func labels(_ text: Substring) -> Substring? {
    var rest = text.dropFirst()
    var names = Set<Substring>()
    while true {
      let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
      rest = rest.dropFirst(name.count)
      guard !name.isEmpty, names.insert(name).inserted, rest.hasPrefix("=\"") else { return nil }
      rest = rest.dropFirst(2)
      while let character = rest.first, character != "\"" {
        guard character == "\\" else {
          rest.removeFirst()
          continue
        }
        guard ["\\\\", "\\\"", "\\n"].contains(rest.prefix(2)) else { return nil }
        rest.removeFirst(2)
      }
      guard !rest.isEmpty else { return nil }
      rest.removeFirst()
      if rest.first == "}" { return rest.dropFirst() }
      guard rest.first == "," else { return nil }
      rest.removeFirst()
    }
  }
}
