import JSON
import PolicySource

/// The place of a value in the files of a gateway: `settings.everybody.routes`. A name with dots stands in double quotes.
package struct SettingPath: Hashable, Sendable, CustomStringConvertible {
  package let keys: [String]

  package init(_ keys: [String]) { self.keys = keys }

  /// Throws where the text is no path, or there is no such key.
  package init(_ text: String) throws(SettingFault) {
    guard let keys = Self.split(text), !keys.isEmpty, keys.allSatisfy({ !$0.isEmpty }) else {
      throw SettingFault(
        "\(quoted(text)) is no key", help: "a key is such as settings.everybody.routes; a name with dots stands in double quotes")
    }
    self.keys = keys
    _ = try schema()
  }

  package var description: String { Self.text(keys[...]) }

  private static func text(_ keys: ArraySlice<String>) -> String {
    keys.map { $0.contains(".") ? "\"\($0)\"" : $0 }.joined(separator: ".")
  }

  /// `nil`: a quote is not closed, or stands within a key.
  private static func split(_ text: String) -> [String]? {
    var (keys, key, isQuoted) = ([String](), "", false)
    for letter in text {
      if letter == "\"" {
        guard isQuoted || key.isEmpty else { return nil }
        isQuoted.toggle()
      } else if letter == ".", !isQuoted {
        keys.append(key)
        key = ""
      } else {
        key.append(letter)
      }
    }
    return isQuoted ? nil : keys + [key]
  }

  /// Whether the value may be a list.
  var isList: Bool { ((try? schema()) ?? []).contains { $0["type"]?.string == "array" } }

  /// The forms of the value, of which one holds.
  private func schema() throws(SettingFault) -> [JSON] {
    var forms = Self.forms(of: gatewayFileKeys.schema.value)
    for (i, key) in keys.enumerated() {
      let next = forms.flatMap { Self.member(key, of: $0) }
      if !next.isEmpty {
        forms = next.flatMap(Self.forms(of:))
        continue
      }
      let known = forms.flatMap { $0["properties"]?.members?.map(\.key) ?? [] }
      let place = i == 0 ? "" : " in \(Self.text(keys[..<i]))"
      let help =
        nearest(to: key, among: known).map { "did you mean `\(Self.text(keys[..<i] + [$0]))`?" }
        ?? (known.isEmpty ? "a name with dots stands in double quotes" : "keys there: \(known.joined(separator: ", "))")
      throw SettingFault("there is no key \(quoted(key))\(place)", help: help)
    }
    return forms
  }

  private static func forms(of schema: JSON) -> [JSON] { schema["anyOf"]?.array?.flatMap(forms(of:)) ?? [schema] }

  /// A key of a mapping, or a name of one.
  private static func member(_ key: String, of form: JSON) -> [JSON] {
    if let known = form["properties"]?[key] { return [known] }
    return form["patternProperties"]?.members?.map(\.value) ?? []
  }

  /// All keys, for completions. Names are not known here: their places end in a dot.
  package static var all: [String] {
    var found: [String] = []
    func gather(_ form: JSON, _ path: [String]) {
      for member in form["properties"]?.members ?? [] where member.key != "version" {
        let keys = path + [member.key]
        let forms = forms(of: member.value)
        let isNamed = forms.contains { $0["patternProperties"] != nil }
        found.append(text(keys[...]) + (isNamed ? "." : ""))
        for form in forms where !isNamed { gather(form, keys) }
      }
    }
    for form in forms(of: gatewayFileKeys.schema.value) { gather(form, []) }
    return found
  }
}

/// The reason why a setting is not changed.
package struct SettingFault: Error, Hashable, Sendable, CustomStringConvertible {
  package let text: String
  package let help: String

  package init(_ text: String, help: String) { (self.text, self.help) = (text, help) }

  package var description: String { "\(text)\n  help: \(help)" }
}
