import JSON
import PolicySource

/// The values of a file without their places and comments.
indirect enum SettingTree: Hashable {
  /// A value without quotes that stands for more than its letters: a number, a boolean, nothing.
  case word(String)
  case text(String)
  case list([SettingTree])
  case mapping([Entry])

  struct Entry: Hashable {
    let key: String
    var value: SettingTree
  }

  /// `nil`: some of it was refused when it was read.
  init?(_ node: Node) {
    switch node.content {
    case .null: self = .word("~")
    case .scalar(let text, let isPlain): self = Self.scalar(text, isPlain: isPlain)
    case .sequence(let nodes):
      let items = nodes.compactMap { SettingTree($0) }
      guard items.count == nodes.count else { return nil }
      self = .list(items)
    case .mapping(let entries):
      let found = entries.compactMap { entry in SettingTree(entry.value).map { Entry(key: entry.key, value: $0) } }
      guard found.count == entries.count else { return nil }
      self = .mapping(found)
    case .refused: return nil
    }
  }

  /// A value that would be written without quotes anyway is a text, whatever its quotes. Of other words, those that are safe in any place
  /// stay plain.
  private static func scalar(_ text: String, isPlain: Bool) -> SettingTree {
    let isSafe =
      !text.isEmpty && text.utf8.allSatisfy { (48...57).contains($0) || (97...122).contains($0 | 0x20) || "._-+".utf8.contains($0) }
    if !isPlain || !isSafe || YAMLMapping([("k", .text(text))]).text == "k: \(text)\n" { return .text(text) }
    return .word(text)
  }

  var yaml: YAMLValue {
    switch self {
    case .word(let word): .word(word)
    case .text(let text): .text(text)
    case .list(let items): .list(items.map(\.yaml))
    case .mapping(let entries): .mapping(YAMLMapping(entries.map { ($0.key, $0.value.yaml) }))
    }
  }

  var json: JSON {
    switch self {
    case .word(let word):
      if let flag = parseBoolean(word) { .bool(flag) } else if let number = Int64(word) { .integer(number) } else { .string(word) }
    case .text(let text): .string(text)
    case .list(let items): .array(items.map(\.json))
    case .mapping(let entries): .object(entries.map { JSON.Member(key: $0.key, value: $0.value.json) })
    }
  }

  /// In the words of messages.
  var shown: String {
    switch self {
    case .word(let text), .text(let text): text
    case .list(let items): items.map(\.shown).joined(separator: ", ")
    case .mapping(let entries): entries.map(\.key).joined(separator: ", ")
    }
  }

  /// `nil`: there is no such value.
  subscript(path: ArraySlice<String>) -> SettingTree? {
    guard let key = path.first else { return self }
    guard case .mapping(let entries) = self else { return nil }
    return entries.first { $0.key == key }?.value[path.dropFirst()]
  }

  /// Sets a value, with the mappings around it; `nil`: removes it.
  mutating func set(_ path: ArraySlice<String>, to value: SettingTree?) {
    guard let key = path.first else {
      if let value { self = value }
      return
    }
    var entries: [Entry] = if case .mapping(let found) = self { found } else { [] }
    let place = entries.firstIndex { $0.key == key }
    if place == nil, value == nil { return }
    if path.count == 1 {
      switch (place, value) {
      case (let place?, let value?): entries[place].value = value
      case (let place?, nil): entries.remove(at: place)
      case (nil, let value): if let value { entries.append(Entry(key: key, value: value)) }
      }
    } else {
      var inner = place.map { entries[$0].value } ?? .mapping([])
      inner.set(path.dropFirst(), to: value)
      if let place { entries[place].value = inner } else { entries.append(Entry(key: key, value: inner)) }
    }
    self = .mapping(entries)
  }
}
