/// A document without the values of all keys that are not known to be harmless.
package struct Disclosure: Sendable {
  /// The document, written anew.
  package private(set) var text = ""
  /// The values that were left out.
  package private(set) var leftOut = 0
  /// Values behind names of secrets, which other texts may repeat.
  package private(set) var secrets: [String] = []

  static let mark = "[left out]"
  static let secretMark = "[secret]"

  /// `nil`: free text, which only a search can judge.
  package init?(_ text: String, as format: ReportFormat) {
    switch format {
    case .text: return nil
    case .yaml, .json:
      guard let node = ReportNode(yaml: text) else {
        self.text = outline(of: text)
        return
      }
      let shown = shown(node, under: .unknown)
      if case .json = format { self.text = JSONText.document(shown) } else { self.text = shown.yaml }
    case .settings: self.text = settings(text)
    }
  }

  /// Something was left out where `nature` is the value's.
  mutating func leaveOut(_ texts: [String], _ nature: KeyNature) -> String {
    leftOut += 1
    guard nature == .secret else { return Self.mark }
    secrets += texts
    return Self.secretMark
  }

  private mutating func shown(_ node: ReportNode, under nature: KeyNature) -> ReportNode {
    switch (node, nature) {
    case (_, .secret): return .scalar(leaveOut(node.texts, nature), isPlain: true)
    case (.mapping(let entries), _):
      return .mapping(
        entries.map { entry in
          ReportNode.Entry(
            key: KeyNature.isShownKey(entry.key) ? entry.key : leaveOut([], .unknown), value: shown(entry, isNamed: nature == .names))
        })
    case (.list(let items), .arguments):
      let texts = items.map { item in if case .scalar(let text, _) = item { text } else { "" } }
      return .list(shown(arguments: texts).map { .scalar($0, isPlain: false) })
    case (.list(let items), _): return .list(items.map { shown($0, under: nature) })
    case (.scalar(let text, let isPlain), .harmless): return .scalar(text, isPlain: isPlain)
    case (.scalar(let text, let isPlain), _):
      return text.isEmpty ? .scalar(text, isPlain: isPlain) : .scalar(leaveOut([text], nature), isPlain: true)
    }
  }

  private mutating func shown(_ entry: ReportNode.Entry, isNamed: Bool) -> ReportNode {
    if isNamed, case .mapping = entry.value {
      let nature = KeyNature(of: entry.key)
      return shown(entry.value, under: nature == .names ? nature : .unknown)
    }
    guard isNamed || KeyNature.isJudged(entry.key) else {
      return .scalar(leaveOut(entry.value.texts, KeyNature(of: entry.key)), isPlain: true)
    }
    if case .scalar(let text, _) = entry.value, KeyNature.isPublicPin(text, of: entry.key) { return entry.value }
    return shown(entry.value, under: KeyNature(of: entry.key))
  }

  /// A program and the names of its options; what it is given is left out.
  private mutating func shown(arguments: [String]) -> [String] {
    var isSecret = false
    return arguments.enumerated().map { number, argument in
      defer { isSecret = KeyNature.namesSecret(option: argument) }
      if number == 0, !argument.contains(where: \.isWhitespace) { return argument }
      guard let option = KeyNature.option(of: argument) else { return leaveOut([argument], isSecret ? .secret : .unknown) }
      if option == argument { return argument }
      let value = String(argument.dropFirst(option.count).drop { $0 == "=" })
      return option + "=" + leaveOut([value], KeyNature.namesSecret(option: option) ? .secret : .unknown)
    }
  }

  /// A policy that does not parse, line by line: known keys, and values that are numbers, addresses or words of the language.
  private mutating func outline(of text: String) -> String {
    textLines(text).map { line -> String in
      let indentation = line.prefix { $0 == " " || $0 == "\t" || $0 == "-" }
      let rest = line.dropFirst(indentation.count)
      if rest.allSatisfy(\.isWhitespace) { return String(indentation) }
      guard let colon = rest.firstIndex(of: ":"), KeyNature.isKnown(String(rest[..<colon])) else {
        return String(indentation) + leaveOut([], .unknown)
      }
      let value = rest[rest.index(after: colon)...].trimmed
      let key = rest[...colon]
      let nature = KeyNature(of: String(rest[..<colon]))
      if value.isEmpty { return "\(indentation)\(key)" }
      if nature == .harmless, KeyNature.isPlainWord(value) { return "\(indentation)\(key) \(value)" }
      return "\(indentation)\(key) \(leaveOut([value], nature))"
    }.joined(separator: "\n")
  }
}
