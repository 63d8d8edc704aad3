internal import JSON
import NetworkTypes
import RoamwardCore

extension OptionSchema {
  /// The most items and characters that an option can have.
  private static let longestList = 1024
  private static let longestText = 4096

  /// Reads a schema; an error is reported at its place.
  init?(_ node: Node, _ reading: inout Reading) {
    guard var fields = Fields(node, of: "an option's schema", &reading) else { return nil }
    guard
      let type = fields.optional("type", .word(of: ["object", "array", "string", "integer", "number", "boolean"]), &reading)
    else {
      if !reading.problems.hasErrors { reading.error("`type` is missing in an option's schema", at: node.location) }
      return nil
    }
    let about = fields.optional("description", .line, &reading)
    let choices = type == "string" ? fields.optional("enum", .oneOrMore(.line), &reading) : nil
    let standardEntry = fields.take("default")
    guard let kind = Self.kind(type, &fields, at: node.location, &reading) else { return nil }
    let bare = OptionSchema(kind: kind, about: nil, choices: choices, standard: nil)
    let standard = standardEntry.flatMap { bare.read($0.value, as: "a default", &reading) }
    fields.finish(&reading)
    self.init(kind: kind, about: about, choices: choices, standard: standard)
  }

  private static func kind(_ type: String, _ fields: inout Fields, at place: SourceLocation, _ reading: inout Reading) -> Kind? {
    switch type {
    case "object": return object(&fields, &reading)
    case "array":
      guard let items = fields.take("items") else {
        reading.error("`items` is missing in the schema of a list", at: place)
        return nil
      }
      let limit = fields.optional("maxItems", .number(1...UInt32(longestList)), &reading).map { Int($0) } ?? longestList
      return OptionSchema(items.value, &reading).map { .array($0, atMost: limit) }
    case "string":
      let format: Format? = fields.optional("format", .word(), &reading)
      let shortest = fields.optional("minLength", .number(0...UInt32(longestText)), &reading).map { Int($0) } ?? 0
      let longest = fields.optional("maxLength", .number(0...UInt32(longestText)), &reading).map { Int($0) } ?? longestText
      return range(shortest, longest, at: place, &reading).map { .string(format, $0) }
    case "integer":
      let least = fields.optional("minimum", .whole, &reading) ?? -(1 << 53)
      let most = fields.optional("maximum", .whole, &reading) ?? 1 << 53
      return range(least, most, at: place, &reading).map { .integer($0) }
    case "number":
      let least = fields.optional("minimum", .real, &reading) ?? -.greatestFiniteMagnitude
      let most = fields.optional("maximum", .real, &reading) ?? .greatestFiniteMagnitude
      return range(least, most, at: place, &reading).map { .number($0) }
    default: return .boolean
    }
  }

  private static func range<Bound: Comparable>(
    _ low: Bound, _ high: Bound, at place: SourceLocation, _ reading: inout Reading
  ) -> ClosedRange<Bound>? {
    if low <= high { return low...high }
    reading.error("no value is allowed: \(low) is more than \(high)", at: place)
    return nil
  }

  private static func object(_ fields: inout Fields, _ reading: inout Reading) -> Kind? {
    let required = fields.take("required").map {
      (names: ValueReader.oneOrMore(.line).read($0.value, &reading) ?? [], place: $0.keyLocation)
    }
    let allowsOthers = fields.optional("additionalProperties", .boolean, &reading) ?? false
    var properties: [Property] = []
    if let entry = fields.take("properties") {
      guard case .mapping(let entries) = entry.value.content else {
        reading.expected("the properties of an object", at: entry.value)
        return nil
      }
      for entry in entries {
        if isSecretName(entry.key) {
          reading.error(
            "\(quoted(entry.key)) looks like a secret, and a policy never holds one",
            help: "take it as a credential, which comes by descriptor", at: entry.keyLocation)
        }
        guard let schema = OptionSchema(entry.value, &reading) else { continue }
        properties.append(Property(name: entry.key, isRequired: required?.names.contains(entry.key) ?? false, schema: schema))
      }
    }
    for name in required?.names ?? [] where !properties.contains(where: { $0.name == name }) {
      reading.error("\(quoted(name)) is required, and no property", help: "add it to `properties`", at: required?.place ?? fields.location)
    }
    return .object(properties, allowsOthers: allowsOthers)
  }
}

extension ValueReader where Value == Int64 {
  /// An integer that each reader of JSON keeps exactly: 53 bits.
  static let whole = ValueReader("an integer") { text in
    Int64(text).flatMap { text.utf8.first == UInt8(ascii: "+") || abs($0) > 1 << 53 ? nil : $0 }
  }
}

extension ValueReader where Value == Double {
  static let real = ValueReader("a number") { text in
    let isPlain = text.utf8.allSatisfy { (48...57).contains($0) || "+-.eE".utf8.contains($0) }
    return isPlain ? Double(text).flatMap { $0.isFinite ? $0 : nil } : nil
  }
}
