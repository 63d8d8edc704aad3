import RoamwardCore

/// A setting in a file of systemd or NetworkManager (systemd.syntax(7), GKeyFile).
package struct UnitSetting: Equatable, Sendable {
  package var section: String
  package var key: String
  package var value: String

  /// The value as a boolean, as systemd reads it: all words except those for no count as yes.
  package var isOn: Bool { !["no", "n", "false", "f", "off", "0"].contains(value.lowercased()) }
}

/// All settings, in order. Invalid lines are ignored: these files belong to other programs.
package func unitSettings(in text: String) -> [UnitSetting] {
  var section = ""
  var settings: [UnitSetting] = []
  for line in text.split(whereSeparator: \.isNewline).map(trimmed) where line.first != "#" && line.first != ";" {
    if line.hasPrefix("["), line.hasSuffix("]") {
      section = String(line.dropFirst().dropLast())
    } else if let equals = line.firstIndex(of: "=") {
      settings.append(
        UnitSetting(section: section, key: String(trimmed(line[..<equals])), value: String(trimmed(line[line.index(after: equals)...]))))
    }
  }
  return settings
}

private func trimmed(_ text: Substring) -> Substring {
  var text = text.drop { $0 == " " || $0 == "\t" }
  while let last = text.last, last == " " || last == "\t" { text.removeLast() }
  return text
}
