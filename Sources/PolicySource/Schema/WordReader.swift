extension ValueReader where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
  /// One of the words of an enumeration. `planned` words belong to the language, but not yet to this version.
  static func word(planned: [String] = []) -> ValueReader {
    let words = Value.allCases.map(\.rawValue)
    let expected = alternatives(words)
    return ValueReader(expected: expected) { node, reading in
      guard case .scalar(let text, _) = node.content else {
        reading.expected(expected, at: node)
        return nil
      }
      if let value = Value(rawValue: text) { return value }
      if planned.contains(text) {
        reading.error("`\(text)` is not supported by this version", help: "use \(expected)", at: node.location)
      } else {
        reading.expected(expected, at: node, help: nearest(to: text, among: words).map { "did you mean `\($0)`?" })
      }
      return nil
    }
  }
}
