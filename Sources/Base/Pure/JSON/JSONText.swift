internal import NetworkTypes

extension JSON {
  /// The value as text: on one line, or indented by two spaces for people, with short arrays on a line. Characters that can control a
  /// terminal are escaped (`\u009b`), so the text is safe to print.
  public func text(indented: Bool = false) -> String {
    if indented { return indentedText(by: 0) }
    var text = ""
    write(to: &text)
    return text
  }

  private func write(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .integer(let number): text += String(number)
    case .real(let number): text += number.isFinite ? number.description : "null"
    case .string(let value): text += quoted(value)
    case .array(let items):
      text += "["
      for (i, item) in items.enumerated() {
        if i > 0 { text += "," }
        item.write(to: &text)
      }
      text += "]"
    case .object(let members):
      text += "{"
      for (i, member) in members.enumerated() {
        if i > 0 { text += "," }
        text += quoted(member.key)
        text += ":"
        member.value.write(to: &text)
      }
      text += "}"
    }
  }

  /// The width of the longest array that stays on one line.
  private static let widestLine = 110

  private func indentedText(by indent: Int) -> String {
    let inner = String(repeating: " ", count: indent + 2)
    let end = "\n" + String(repeating: " ", count: indent)
    switch self {
    case .array(let items):
      let texts = items.map { $0.indentedText(by: indent + 2) }
      let line = "[\(texts.joined(separator: ", "))]"
      if line.utf8.count <= Self.widestLine, !line.utf8.contains(UInt8(ascii: "\n")) { return line }
      return "[\n\(texts.map { inner + $0 }.joined(separator: ",\n"))\(end)]"
    case .object(let members) where !members.isEmpty:
      let lines = members.map { "\(inner)\(quoted($0.key)): \($0.value.indentedText(by: indent + 2))" }
      return "{\n\(lines.joined(separator: ",\n"))\(end)}"
    default: return text()
    }
  }
}

private func quoted(_ text: String) -> String {
  let isPlain = text.utf8.allSatisfy { (0x20..<0x7f).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
  if isPlain { return "\"\(text)\"" }
  let quote = UInt8(ascii: "\""), backslash = UInt8(ascii: "\\")
  var bytes: [UInt8] = [quote]
  bytes.reserveCapacity(text.utf8.count + 2)
  let isShown = isPrintable(text)
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": bytes += [backslash, quote]
    case "\\": bytes += [backslash, backslash]
    case "\n": bytes += [backslash, UInt8(ascii: "n")]
    case "\r": bytes += [backslash, UInt8(ascii: "r")]
    case "\t": bytes += [backslash, UInt8(ascii: "t")]
    case _ where !isShown && scalar.isUnprintable:
      for unit in String(scalar).utf16 {
        let digits = String(unit, radix: 16)
        bytes += Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
      }
    default: if let unit = UTF8.encode(scalar) { bytes.append(contentsOf: unit) }
    }
  }
  bytes.append(quote)
  return String(decoding: bytes, as: UTF8.self)
}
