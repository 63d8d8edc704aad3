import YAMLEvents

/// A line whose key has no colon, or no blank after it. YAML reads it as a text, and complains about another line.
struct ColonSlip: Equatable {
  var message: String
  var help: String
  /// From 1.
  var line: Int
  var column: Int
}

extension SourceText {
  /// The slip behind a syntax error; `nil`: the error has another cause.
  func colonSlip(of error: YAMLSyntaxError) -> ColonSlip? {
    let lines = byteLines(bytes)
    var place: Int
    if error.problem.contains("mapping values are not allowed") || error.problem.contains("did not find expected key") {
      // The text before this line's key, in the last line that has any.
      place = error.mark.line - 2
      while lines.indices.contains(place), Self.content(of: lines[place]).text.isEmpty { place -= 1 }
    } else if error.problem.contains("could not find expected ':'"), let begin = error.context?.mark {
      place = begin.line - 1
    } else {
      return nil
    }
    guard lines.indices.contains(place) else { return nil }
    let (text, column) = Self.content(of: lines[place])
    guard let slip = Self.slip(in: text) else { return nil }
    return ColonSlip(message: slip.message, help: slip.help, line: place + 1, column: column)
  }

  private static func slip(in text: String) -> (message: String, help: String)? {
    let key = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) || "-_.".contains($0) }
    guard !key.isEmpty, key.first != "-", key.first != "." else { return nil }
    let rest = text.dropFirst(key.count)
    if rest.isEmpty { return ("a colon is missing after `\(key)`", "write `\(key):`") }
    if rest.first == ":", let next = rest.dropFirst().first, next != " " {
      return ("a blank is missing after the colon of `\(key)`", "write `\(key): \(rest.dropFirst())`")
    }
    let value = rest.drop { $0 == " " }
    guard rest.first == " ", !value.isEmpty, !value.contains(": ") else { return nil }
    return ("a colon is missing after `\(key)`", "write `\(key): \(value)`")
  }

  /// A line without its indentation, the dashes of lists and its comment, and the column where it begins.
  private static func content(of line: some Collection<UInt8>) -> (text: String, column: Int) {
    let whole = String(decoding: line, as: UTF8.self)
    var text = whole[...]
    while text.first == " " || text.hasPrefix("- ") { text.removeFirst() }
    let column = whole.count - text.count + 1
    if text.hasPrefix("#") { return ("", column) }
    if let comment = text.firstRange(of: " #") { text = text[..<comment.lowerBound] }
    while text.last?.isWhitespace == true { text.removeLast() }
    return (String(text), column)
  }
}
