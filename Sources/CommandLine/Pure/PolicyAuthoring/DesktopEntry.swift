/// A program's file for launchers (freedesktop.org, Desktop Entry Specification 1.5), as far as it is needed to write another one that
/// starts the program with a route of its own. Every value is parsed, and what is written is made of these values; keys that are not known
/// are left out.
package struct DesktopEntry: Equatable, Sendable {
  package struct Mistake: Error, Equatable, CustomStringConvertible {
    /// From 1; 0: the file as a whole.
    package var line: Int
    package var text: String
    package var description: String { line == 0 ? text : "line \(line): \(text)" }
  }

  /// The route of a program.
  package enum Route: Hashable, Sendable, CustomStringConvertible {
    case through(String)
    case outside

    /// As it stands in a file that was written for it.
    package init?(_ text: String) {
      let words = text.split(separator: " ")
      switch (words.first, words.count) {
      case ("through", 2): self = .through(String(words[1]))
      case ("outside", 1): self = .outside
      default: return nil
      }
    }

    package var description: String {
      switch self {
      case .through(let tunnel): "through \(tunnel)"
      case .outside: "outside"
      }
    }
  }

  /// A value in its language; without one, for every language.
  struct Value: Equatable, Sendable {
    var language: String?
    var text: String
  }

  /// `Desktop Entry`, or an action of it.
  struct Group: Equatable, Sendable {
    var name: String
    var values: [DesktopKey: [Value]] = [:]
    var command: DesktopCommand?
  }

  private(set) var groups: [Group]
  /// The route for which a file was written; `nil`: it is not ours.
  package private(set) var route: Route?
  /// Whether other programs may start it over D-Bus, which no file for launchers changes.
  package private(set) var isStartedByBus = false

  /// At most 256 KiB of text.
  package static let longest = 1 << 18

  package init(_ bytes: [UInt8]) throws(Mistake) {
    guard bytes.count <= Self.longest else { throw Mistake(line: 0, text: "the file has more than \(Self.longest) bytes") }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw Mistake(line: 0, text: "the file is no text in UTF-8") }
    groups = []
    for (i, line) in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      try take(String(line) ?? "", line: i + 1)
    }
    guard let main = groups.first, main.name == Self.mainGroup else {
      throw Mistake(line: 0, text: "there is no group [\(Self.mainGroup)]")
    }
    guard main.values[.type]?.first?.text == "Application" else { throw Mistake(line: 0, text: "it is no program (`Type=Application`)") }
    guard main.values[.name] != nil else { throw Mistake(line: 0, text: "it has no `Name`") }
    guard main.command != nil else { throw Mistake(line: 0, text: "it has no `Exec`: it is started over D-Bus alone") }
  }

  private static let mainGroup = "Desktop Entry"
  private static let routeKey = "X-Roamward-Route"

  private mutating func take(_ line: String, line number: Int) throws(Mistake) {
    let scalars = line.unicodeScalars
    if let control = scalars.first(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7f }) {
      throw Mistake(line: number, text: "it has the control character U+00\(String(control.value, radix: 16, uppercase: true))")
    }
    guard let first = scalars.first(where: { $0 != " " && $0 != "\t" }), first != "#" else { return }
    if first == "[" {
      guard scalars.first == "[", scalars.last == "]", scalars.count > 2 else {
        throw Mistake(line: number, text: "this is no group, such as [\(Self.mainGroup)]")
      }
      let name = String(scalars.dropFirst().dropLast())
      if groups.contains(where: { $0.name == name }) { throw Mistake(line: number, text: "there is another group [\(name)]") }
      groups.append(Group(name: name))
      return
    }
    guard let equals = scalars.firstIndex(of: "=") else { throw Mistake(line: number, text: "this is no key with a value (`Key=value`)") }
    guard !groups.isEmpty else { throw Mistake(line: number, text: "the file begins with [\(Self.mainGroup)]") }
    try set(scalars[..<equals].trimmed, scalars[scalars.index(after: equals)...].trimmed, line: number)
  }

  private mutating func set(_ key: String, _ value: String, line number: Int) throws(Mistake) {
    let parts = key.utf8.split(separator: UInt8(ascii: "["), maxSplits: 1)
    let last = groups.count - 1
    let isMain = last == 0
    guard let name = parts.first.flatMap({ String($0) }), name.utf8.allSatisfy(\.isOfKey) else {
      throw Mistake(line: number, text: "\"\(key)\" is no key")
    }
    var language: String?
    if parts.count == 2 {
      guard parts[1].last == UInt8(ascii: "]"), parts[1].dropLast().allSatisfy(\.isOfLanguage) else {
        throw Mistake(line: number, text: "\"\(key)\" has no language that can be read, such as Name[de]")
      }
      language = String(parts[1].dropLast())
    }
    guard let text = Self.unescaped(value, isList: DesktopKey(rawValue: name)?.form == .list) else {
      throw Mistake(line: number, text: "a backslash is followed by one of s, n, t, r and \\, in a list also ;")
    }
    switch name {
    case "Exec" where language == nil:
      if groups[last].command != nil { throw Mistake(line: number, text: "there is another `Exec`") }
      groups[last].command = try DesktopCommand(text, line: number)
    case Self.routeKey where isMain: route = Route(text)
    case "DBusActivatable" where isMain: isStartedByBus = text == "true"
    case "Hidden" where isMain && text == "true": throw Mistake(line: number, text: "it is hidden: no launcher shows it")
    default:
      guard let known = DesktopKey(rawValue: name), isMain || known.isOfActions else { return }
      guard known.form.admits(text) else { throw Mistake(line: number, text: "`\(name)` is \(known.form.words)") }
      if language != nil, !known.isTranslated { return }
      if groups[last].values[known, default: []].contains(where: { $0.language == language }) {
        throw Mistake(line: number, text: "there is another `\(key)`")
      }
      groups[last].values[known, default: []].append(Value(language: language, text: text))
    }
  }
}

extension DesktopEntry {
  /// The name in every language.
  package var name: String { groups.first?.values[.name]?.first { $0.language == nil }?.text ?? groups[0].values[.name]?[0].text ?? "" }

  /// The program and its arguments, without those that have a code such as %u.
  package var words: [String] {
    (groups[0].command?.words ?? []).compactMap { word in
      var text = ""
      for piece in word.pieces {
        guard case .literal(let part) = piece else { return nil }
        text += part
      }
      return text
    }
  }

  /// The text of a file that starts the program by `roamward run`. `program`: the path of `roamward`; `options`: those of `run`.
  package func text(for route: Route, program: String, options: [String]) -> String {
    let actions = groups[0].values[.actions].map { $0.flatMap { $0.text.split(separator: ";") } } ?? []
    let shown = groups.enumerated().filter { i, group in
      i == 0 || actions.contains { group.name == "Desktop Action \($0)" } && group.command != nil
    }
    var lines = ["# `roamward app` has written this file; `roamward app remove` removes it."]
    for (i, group) in shown {
      lines.append("[\(group.name)]")
      for key in DesktopKey.allCases {
        for value in group.values[key] ?? [] {
          lines.append("\(key.rawValue)\(value.language.map { "[\($0)]" } ?? "")=\(Self.escaped(value.text))")
        }
      }
      if let command = group.command {
        let words = ([program, "run"] + options + ["--"]).map { DesktopCommand.Word(literal: $0) } + command.words
        lines.append("Exec=\(Self.escaped(DesktopCommand(words: words).text))")
      }
      if i == 0 { lines.append("\(Self.routeKey)=\(route)") }
      lines.append("")
    }
    return lines.joined(separator: "\n")
  }

  private static let escapes: [(letter: Unicode.Scalar, scalar: Unicode.Scalar)] = [("n", "\n"), ("t", "\t"), ("r", "\r"), ("\\", "\\")]

  /// A semicolon that parts no items of a list; no value has this character.
  private static let semicolon: Unicode.Scalar = "\u{1f}"

  /// `nil`: a backslash is followed by something else.
  static func unescaped(_ value: String, isList: Bool = false) -> String? {
    var result = ""
    var isEscape = false
    for scalar in value.unicodeScalars {
      if !isEscape {
        if scalar == "\\" { isEscape = true } else { result.unicodeScalars.append(scalar) }
        continue
      }
      isEscape = false
      if scalar == "s" {
        result += " "
      } else if isList, scalar == ";" {
        result.unicodeScalars.append(semicolon)
      } else if let escape = escapes.first(where: { $0.letter == scalar }) {
        result.unicodeScalars.append(escape.scalar)
      } else {
        return nil
      }
    }
    return isEscape ? nil : result
  }

  /// A leading blank would be lost otherwise.
  static func escaped(_ text: String) -> String {
    var result = ""
    for (i, scalar) in text.unicodeScalars.enumerated() {
      if i == 0, scalar == " " {
        result += "\\s"
      } else if scalar == semicolon {
        result += "\\;"
      } else if let escape = escapes.first(where: { $0.scalar == scalar }) {
        result += "\\\(escape.letter)"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension Substring.UnicodeScalarView {
  /// Without blanks at both ends.
  fileprivate var trimmed: String {
    let isBlank = { (scalar: Unicode.Scalar) in scalar == " " || scalar == "\t" }
    guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else { return "" }
    return String(self[first...last])
  }
}

extension UInt8 {
  fileprivate var isOfKey: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// `de_AT.UTF-8@euro`
  fileprivate var isOfLanguage: Bool { isOfKey || [UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "@")].contains(self) }
}
