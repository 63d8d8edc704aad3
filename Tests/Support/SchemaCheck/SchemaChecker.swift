package import JSON

/// JSON Schema, draft 7, as far as the schemas of policies and of gateways' files need it.
package final class SchemaChecker {
  private let root: JSON
  private var patterns: [String: Regex<AnyRegexOutput>] = [:]
  /// The texts are few.
  private var matched: [String: [String: Bool]] = [:]

  package init(_ root: JSON) { self.root = root }

  package func violations(in value: JSON) -> [String] { violations(of: root, in: value, at: "") }

  private func holds(_ schema: JSON, _ value: JSON) -> Bool { violations(of: schema, in: value, at: "").isEmpty }

  private func violations(of schema: JSON, in value: JSON, at path: String) -> [String] {
    if case .bool(let holds) = schema { return holds ? [] : ["\(path): nothing is allowed"] }
    if let reference = schema["$ref"]?.string, let name = reference.split(separator: "/").last {
      guard let definition = root["definitions"]?[String(name)] else { return ["\(path): no definition \(name)"] }
      return violations(of: definition, in: value, at: path)
    }
    return (schema.members ?? []).flatMap { keyword in self.violations(of: keyword, of: schema, in: value, at: path) }
  }

  private func violations(of keyword: JSON.Member, of schema: JSON, in value: JSON, at path: String) -> [String] {
    func expect(_ holds: Bool) -> [String] { holds ? [] : ["\(path): \(keyword.key) \(keyword.value.text().prefix(80))"] }
    switch (keyword.key, keyword.value) {
    case ("$schema", _), ("title", _), ("description", _), ("default", _), ("examples", _), ("definitions", _), ("then", _), ("else", _):
      return []
    case ("type", let types):
      return expect((types.array?.compactMap(\.string) ?? [types.string ?? ""]).contains { value.types.contains($0) })
    case ("enum", .array(let words)): return expect(words.contains(value))
    case ("const", let word): return expect(word == value)
    case ("pattern", .string(let pattern)): return expect(value.string.map { matches($0, pattern) } ?? true)
    case ("minimum", let least): return expect(value.integer.map { $0 >= least.integer ?? 0 } ?? true)
    case ("maximum", let most): return expect(value.integer.map { $0 <= most.integer ?? 0 } ?? true)
    case ("minItems", let count): return expect(value.array.map { $0.count >= count.integer ?? 0 } ?? true)
    case ("maxItems", let count): return expect(value.array.map { $0.count <= count.integer ?? 0 } ?? true)
    case ("minProperties", let count): return expect(value.members.map { $0.count >= count.integer ?? 0 } ?? true)
    case ("maxProperties", let count): return expect(value.members.map { $0.count <= count.integer ?? 0 } ?? true)
    case ("required", .array(let names)):
      return expect(value.members.map { members in names.allSatisfy { name in members.contains { $0.key == name.string } } } ?? true)
    case ("properties", .object(let properties)):
      return (value.members ?? []).flatMap { member in
        properties.first { $0.key == member.key }.map { violations(of: $0.value, in: member.value, at: "\(path).\(member.key)") } ?? []
      }
    case ("patternProperties", .object(let properties)):
      return (value.members ?? []).flatMap { member in
        properties.filter { matches(member.key, $0.key) }.flatMap {
          violations(of: $0.value, in: member.value, at: "\(path).\(member.key)")
        }
      }
    case ("additionalProperties", let rest):
      let known = Set((schema["properties"]?.members ?? []).map(\.key))
      let forms = (schema["patternProperties"]?.members ?? []).map(\.key)
      return (value.members ?? []).filter { member in !known.contains(member.key) && !forms.contains { matches(member.key, $0) } }
        .flatMap { violations(of: rest, in: $0.value, at: "\(path).\($0.key)") }
    case ("items", .array(let first)):
      let items = value.array ?? []
      return zip(first, items).flatMap { violations(of: $0, in: $1, at: path) }
        + items.dropFirst(first.count).flatMap { violations(of: schema["additionalItems"] ?? true, in: $0, at: path) }
    case ("items", let item): return (value.array ?? []).flatMap { violations(of: item, in: $0, at: "\(path)[]") }
    case ("additionalItems", _): return []
    case ("anyOf", .array(let schemas)): return expect(schemas.contains { holds($0, value) })
    case ("oneOf", .array(let schemas)): return expect(schemas.count { holds($0, value) } == 1)
    case ("allOf", .array(let schemas)): return schemas.flatMap { violations(of: $0, in: value, at: path) }
    case ("not", let other): return expect(!holds(other, value))
    case ("if", let condition):
      let branch = holds(condition, value) ? schema["then"] : schema["else"]
      return branch.map { violations(of: $0, in: value, at: path) } ?? []
    default: return ["\(path): `\(keyword.key)` is not checked here"]
    }
  }

  private func matches(_ text: String, _ pattern: String) -> Bool {
    if let known = matched[pattern]?[text] { return known }
    let isMatch = isMatch(text, pattern)
    matched[pattern, default: [:]][text] = isMatch
    return isMatch
  }

  private func isMatch(_ text: String, _ pattern: String) -> Bool {
    if patterns[pattern] == nil { patterns[pattern] = try? Regex(pattern).matchingSemantics(.unicodeScalar) }
    return patterns[pattern].map { text.firstMatch(of: $0) != nil } ?? false
  }
}

extension JSON {
  fileprivate var types: [String] {
    switch self {
    case .null: ["null"]
    case .bool: ["boolean"]
    case .integer: ["integer", "number"]
    case .real: ["number"]
    case .string: ["string"]
    case .array: ["array"]
    case .object: ["object"]
    }
  }
}
