extension ValueReader where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
  /// One of the words of an enumeration.
  static func word() -> ValueReader {
    let words = Value.allCases.map(\.rawValue)
    let expected = alternatives(words)
    return ValueReader(expected: expected, schema: .words(words)) { node, reading in
      guard case .scalar(let text, _) = node.content else {
        reading.expected(expected, at: node)
        return nil
      }
      if let value = Value(rawValue: text) { return value }
      reading.expected(expected, at: node, help: nearest(to: text, among: words).map { "did you mean `\($0)`?" })
      return nil
    }
  }
}
