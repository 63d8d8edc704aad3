import NetworkTypes
import RoamwardCore

/// Converts a node to a value, or reports the reason why it cannot.
package struct ValueReader<Value>: Sendable {
  /// The expected form, for `expected …, found …`.
  let expected: String
  package let schema: Schema
  package let read: @Sendable (Node, inout Reading) -> Value?
  package init(expected: String, schema: Schema, read: @escaping @Sendable (Node, inout Reading) -> Value?) {
    (self.expected, self.schema, self.read) = (expected, schema, read)
  }
}

extension ValueReader {
  /// Reads the text of a scalar, plain or quoted.
  package init(_ expected: String, schema: Schema = .anyText, help: String? = nil, _ parse: @escaping @Sendable (String) -> Value?) {
    self.init(expected: expected, schema: schema) { node, reading in
      if case .scalar(let text, _) = node.content, let value = parse(text) { return value }
      reading.expected(expected, at: node, help: help)
      return nil
    }
  }

  /// The same, with a cure for the text that was found.
  init(_ expected: String, schema: Schema, cure: @escaping @Sendable (String) -> String?, _ parse: @escaping @Sendable (String) -> Value?) {
    self.init(expected: expected, schema: schema) { node, reading in
      guard case .scalar(let text, _) = node.content else {
        reading.expected(expected, at: node)
        return nil
      }
      if let value = parse(text) { return value }
      reading.expected(expected, at: node, help: cure(text))
      return nil
    }
  }

  /// One value, or a list. An absent value is an empty list. Invalid entries are reported and left out.
  package static func oneOrMore<Item>(_ item: ValueReader<Item>) -> ValueReader<[Item]> where Value == [Item] {
    ValueReader<[Item]>(expected: "\(item.expected), or a list of such", schema: .oneOrMore(item.schema)) { node, reading in
      switch node.content {
      case .null: return []
      case .sequence(let nodes):
        var values: [Item] = []
        for node in nodes {
          if let value = item.read(node, &reading) { values.append(value) }
        }
        return values
      case .scalar, .mapping, .refused: return item.read(node, &reading).map { [$0] }
      }
    }
  }

  package func map<Other>(_ transform: @escaping @Sendable (Value) -> Other) -> ValueReader<Other> where Value: Sendable {
    let read = self.read
    return ValueReader<Other>(expected: expected, schema: schema) { node, reading in read(node, &reading).map(transform) }
  }
}

extension ValueReader where Value == String {
  /// One line of text that is not empty; a newline at the end, from folded text, is removed.
  package static let line = ValueReader("one line of text", schema: .text(pattern: SchemaPattern.line)) { text in
    let line = text.hasSuffix("\n") ? String(text.dropLast()) : text
    return line.isEmpty || line.contains("\n") ? nil : line
  }
}

extension ValueReader where Value == Bool {
  package static let boolean = ValueReader("true or false", schema: .boolean) { parseBoolean($0) }
}

package func parseBoolean(_ text: String) -> Bool? {
  switch text.lowercased() {
  case "true", "yes", "on": true
  case "false", "no", "off": false
  default: nil
  }
}

extension ValueReader where Value == UInt32 {
  package static func number(_ range: ClosedRange<UInt32>) -> ValueReader {
    ValueReader("a number from \(range.lowerBound) to \(range.upperBound)", schema: .integer(range)) { text in
      decimal(text).flatMap { UInt32(exactly: $0) }.flatMap { range.contains($0) ? $0 : nil }
    }
  }
}

extension ValueReader where Value == Duration {
  /// `500ms`, `10s`, `5m`, `2h`; up to a year.
  static let duration = ValueReader("a duration such as 500ms, 10s, 5m or 2h", schema: durationSchema(from: 0)) { milliseconds(of: $0) }

  /// The same, but more than zero.
  package static let positiveDuration = ValueReader(
    "a duration such as 500ms, 10s, 5m or 2h, longer than nothing", schema: durationSchema(from: 1)
  ) {
    milliseconds(of: $0).flatMap { $0 > .zero ? $0 : nil }
  }
}

/// Up to a year.
private func durationSchema(from shortest: Int) -> Schema {
  let units = [("ms", 9_999_999_999), ("s", 366 * 86_400), ("m", 366 * 1440), ("h", 366 * 24)]
  let forms = units.map { "0*(\(SchemaPattern.number(shortest...$0.1)))\($0.0)" }
  return .string(pattern: "^(\(forms.joined(separator: "|")))$")
}

private func milliseconds(of text: String) -> Duration? {
  let units: [(suffix: String, milliseconds: Int)] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)]
  guard let unit = units.first(where: { text.hasSuffix($0.suffix) }), let count = decimal(String(text.dropLast(unit.suffix.count))) else {
    return nil
  }
  let (milliseconds, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
  return overflow || milliseconds > 366 * 24 * 3_600_000 ? nil : .milliseconds(milliseconds)
}

/// Parses one to ten digits without a sign.
func decimal(_ text: String) -> Int? {
  guard (1...10).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
  return Int(text)
}
