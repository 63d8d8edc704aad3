extension ValueReader where Value == String {
  /// One of these words.
  static func word(of words: [String]) -> ValueReader {
    let expected = alternatives(words)
    return ValueReader(expected: expected, schema: .words(words)) { node, reading in
      guard case .scalar(let text, _) = node.content else {
        reading.expected(expected, at: node)
        return nil
      }
      if words.contains(text) { return text }
      reading.expected(expected, at: node, help: nearest(to: text, among: words).map { "did you mean `\($0)`?" })
      return nil
    }
  }
}

extension ValueReader where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
  /// One of the words of an enumeration.
  package static func word() -> ValueReader {
    let word = ValueReader<String>.word(of: Value.allCases.map(\.rawValue))
    return ValueReader(expected: word.expected, schema: word.schema) { node, reading in
      word.read(node, &reading).flatMap { Value(rawValue: $0) }
    }
  }
}
