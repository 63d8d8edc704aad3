package import JSON

/// The places where a value breaks a JSON Schema, each as `place: what`. It knows the keywords of JSON Schema that our schemas use, and
/// reports any other. It is stricter in one thing: an object has no members that its `properties` do not name, unless
/// `additionalProperties` speaks of them.
package func violations(of schema: JSON, in value: JSON, at path: String = "") -> [String] {
  (schema.members ?? []).flatMap { keyword -> [String] in
    switch (keyword.key, keyword.value) {
    case ("$schema", _), ("title", _), ("description", _), ("format", _): return []
    case ("type", let types):
      let names = types.array?.compactMap(\.string) ?? [types.string ?? ""]
      return names.contains { value.is($0) } ? [] : ["\(path): not of type \(names.joined(separator: " or "))"]
    case ("const", let constant): return value == constant ? [] : ["\(path): not \(constant.text())"]
    case ("enum", .array(let words)): return words.contains(value) ? [] : ["\(path): \(value.text()) is not listed"]
    case ("pattern", .string(let pattern)):
      guard case .string(let text) = value, let regex = try? Regex(pattern) else { return [] }
      return text.firstMatch(of: regex) == nil ? ["\(path): \"\(text)\" does not match \(pattern)"] : []
    case ("required", .array(let names)):
      guard let members = value.members else { return [] }
      return names.compactMap(\.string).filter { name in !members.contains { $0.key == name } }.map { "\(path): `\($0)` is missing" }
    case ("properties", .object(let properties)):
      return (value.members ?? []).flatMap { member -> [String] in
        let path = path.member(member.key)
        if let own = properties.first(where: { $0.key == member.key })?.value { return violations(of: own, in: member.value, at: path) }
        return schema["additionalProperties"] == nil ? ["\(path): not in the schema"] : []
      }
    case ("additionalProperties", let rest):
      let known = Set((schema["properties"]?.members ?? []).map(\.key))
      return (value.members ?? []).filter { !known.contains($0.key) }.flatMap { member in
        violations(of: rest, in: member.value, at: path.member(member.key))
      }
    case ("items", let item):
      return (value.array ?? []).enumerated().flatMap { violations(of: item, in: $0.element, at: "\(path)[\($0.offset)]") }
    case ("anyOf", .array(let schemas)):
      let found = schemas.map { violations(of: $0, in: value, at: path) }
      if found.contains(where: \.isEmpty) { return [] }
      return found.count == 1 ? found[0] : ["\(path): none of the alternatives"]
    default: return ["\(path): `\(keyword.key)` is not checked here"]
    }
  }
}

extension String {
  fileprivate func member(_ key: String) -> String { isEmpty ? key : "\(self).\(key)" }
}

extension JSON {
  fileprivate func `is`(_ type: String) -> Bool {
    switch type {
    case "null": self == .null
    case "boolean": bool != nil
    case "integer": integer != nil
    case "number": real != nil
    case "string": string != nil
    case "array": array != nil
    case "object": members != nil
    default: false
    }
  }

  /// The names of all members that the schema knows, anywhere in it.
  package var keysOfSchema: Set<String> {
    switch self {
    case .array(let items): items.reduce(into: []) { $0.formUnion($1.keysOfSchema) }
    case .object(let members):
      members.reduce(into: Set((self["properties"]?.members ?? []).map(\.key))) { keys, member in
        if member.key == "properties" {
          for property in member.value.members ?? [] { keys.formUnion(property.value.keysOfSchema) }
        } else {
          keys.formUnion(member.value.keysOfSchema)
        }
      }
    default: []
    }
  }
}
