internal import JSON

/// A mapping for output, in its order.
package struct YAMLMapping {
  private(set) var entries: [(key: String, value: YAMLValue)]

  package init(_ entries: [(key: String, value: YAMLValue)] = []) { self.entries = entries }

  package mutating func add(_ key: String, _ value: YAMLValue) { entries.append((key, value)) }

  package mutating func add(_ key: String, _ value: YAMLValue?) { if let value { entries.append((key, value)) } }

  package var isEmpty: Bool { entries.isEmpty }
}

/// A value for output.
package indirect enum YAMLValue {
  /// A number, a boolean or a keyword of the language, without quotes.
  case word(String)
  /// User text: quoted if a YAML reader could take it for something else.
  case text(String)
  case list([YAMLValue])
  case mapping(YAMLMapping)

  /// A single value is written as it is, several as a list.
  package static func oneOrMore(_ values: [YAMLValue]) -> YAMLValue { values.count == 1 ? values[0] : .list(values) }
}

extension YAMLValue {
  init(_ value: JSON) {
    self =
      switch value {
      case .null: .word("null")
      case .bool(let flag): .word("\(flag)")
      case .integer(let number): .word("\(number)")
      case .real: .word(value.text())
      case .string(let text): .text(text)
      case .array(let items): .list(items.map { YAMLValue($0) })
      case .object(let members): .mapping(YAMLMapping(members.map { ($0.key, YAMLValue($0.value)) }))
      }
  }
}

extension YAMLMapping {
  /// In block style, with a newline at the end; `{}` where it is empty.
  package var text: String {
    var text = ""
    write(to: &text, indent: 0)
    return text
  }

  private func write(to text: inout String, indent: Int) {
    for (i, entry) in entries.enumerated() {
      if i > 0 { text += String(repeating: " ", count: indent) }
      text += yamlScalar(entry.key) + ":"
      entry.value.write(to: &text, indent: indent)
    }
  }

  /// The mapping on one line, in braces; `nil` if that is too long or it contains mappings.
  fileprivate var flow: String? {
    var parts: [String] = []
    for entry in entries {
      if case .mapping(let inner) = entry.value, !inner.isEmpty { return nil }
      guard let value = entry.value.flow else { return nil }
      parts.append("\(yamlScalar(entry.key)): \(value)")
    }
    let line = parts.isEmpty ? "{}" : "{ \(parts.joined(separator: ", ")) }"
    return line.utf8.count <= 100 ? line : nil
  }

  fileprivate func writeBlock(to text: inout String, indent: Int) { write(to: &text, indent: indent) }
}

extension YAMLValue {
  /// Writes the text behind a colon, and the end of its line.
  fileprivate func write(to text: inout String, indent: Int) {
    if let flow {
      text += " \(flow)\n"
      return
    }
    let inner = String(repeating: " ", count: indent + 2)
    text += "\n"
    switch self {
    case .word, .text: break
    case .mapping(let mapping):
      text += inner
      mapping.writeBlock(to: &text, indent: indent + 2)
    case .list(let items):
      for item in items {
        text += inner + "-"
        if let flow = item.flow {
          text += " \(flow)\n"
        } else if case .mapping(let mapping) = item {
          text += " "
          mapping.writeBlock(to: &text, indent: indent + 4)
        } else {
          item.write(to: &text, indent: indent + 2)
        }
      }
    }
  }

  /// The value on one line; `nil` if that is too long, or for mappings that contain more than scalars and lists of scalars.
  fileprivate var flow: String? {
    switch self {
    case .word(let word): return word
    case .text(let text): return yamlScalar(text)
    case .mapping(let mapping): return mapping.flow
    case .list(let items):
      var parts: [String] = []
      var length = 0
      for item in items {
        if case .mapping = item { return nil }
        guard let part = item.flow else { return nil }
        length += part.utf8.count + 2
        if length > 100 { return nil }
        parts.append(part)
      }
      return "[\(parts.joined(separator: ", "))]"
    }
  }
}

/// The text as a scalar: plain if it is unambiguous, otherwise in double quotes.
func yamlScalar(_ text: String) -> String {
  isPlain(text) ? text : doubleQuoted(text)
}

/// Words that some YAML readers take for a boolean or null.
private let reservedWords: Set<String> = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"]

private func isPlain(_ text: String) -> Bool {
  func isLetter(_ c: UInt8) -> Bool { (97...122).contains(c | 0x20) }
  func isDigit(_ c: UInt8) -> Bool { (48...57).contains(c) }
  let bytes = Array(text.utf8)
  guard let first = bytes.first, let last = bytes.last, last != UInt8(ascii: ":"), last != 0x20 else { return false }
  guard isLetter(first) || isDigit(first) || first == UInt8(ascii: "/") || first == UInt8(ascii: "_") else { return false }
  // Some YAML readers take `08:00` for a number. So a colon is only allowed after a letter, as in URLs.
  let allowed = isLetter(first) ? "./_-+*=:@ ".utf8.map { $0 } : "./_-".utf8.map { $0 }
  guard bytes.allSatisfy({ isLetter($0) || isDigit($0) || allowed.contains($0) }) else { return false }
  for i in bytes.indices.dropLast() where bytes[i] == UInt8(ascii: ":") && bytes[i + 1] == 0x20 { return false }
  if reservedWords.contains(text.lowercased()) { return false }
  // Excludes numbers in any base, with exponents or underscores, and dates. A prefix such as 10.0.0.0/8 is allowed.
  return isLetter(first) || first == UInt8(ascii: "/") || first == UInt8(ascii: "_") || bytes.contains(UInt8(ascii: "/"))
    || bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).count == 4
}

private func doubleQuoted(_ text: String) -> String {
  var quoted = "\""
  for scalar in text.unicodeScalars {
    switch scalar.value {
    case 0x22: quoted += "\\\""
    case 0x5c: quoted += "\\\\"
    case 9: quoted += "\\t"
    case 10: quoted += "\\n"
    case 0..<0x20, 0x7f..<0xa0, 0x200b...0x200f, 0x2028...0x202e, 0x2060...0x206f, 0xfeff, 0xfff9...0xffff:
      let digits = String(scalar.value, radix: 16)
      quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    default: quoted.unicodeScalars.append(scalar)
    }
  }
  return quoted + "\""
}
