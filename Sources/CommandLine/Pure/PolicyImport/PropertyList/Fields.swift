/// A value and its place.
struct Item {
  let property: Property
  let place: KeyPath

  var text: String? { property.text }

  var items: [Item]? {
    property.items?.enumerated().map { Item(property: $1, place: place.item($0, line: $1.line ?? place.line)) }
  }

  /// Every value below it that is not a container.
  var leaves: [Item] {
    if let items { return items.isEmpty ? [self] : items.flatMap(\.leaves) }
    guard let entries = property.entries else { return [self] }
    return entries.isEmpty
      ? [self]
      : entries.flatMap { Item(property: $0.value, place: place.key($0.key, line: $0.value.line ?? place.line)).leaves }
  }
}

/// The remaining keys of a dictionary. Code that takes a key reports it; `finish` reports the rest.
struct Fields {
  let place: KeyPath
  private var entries: [Property.Entry]

  /// `nil`, and reported, if the value is not a dictionary.
  init?(_ item: Item, _ report: inout ImportReport) {
    guard let entries = item.property.entries else {
      report.dropped(item.place, "expected a dictionary, found \(item.property.kind)", weight: .error)
      return nil
    }
    place = item.place
    self.entries = entries
  }

  var keys: [String] { entries.map(\.key) }

  /// Every remaining value that is not a container.
  var leaves: [Item] { Item(property: Property(.dictionary(entries), line: place.line), place: place).leaves }

  func has(_ key: String) -> Bool { entries.contains { $0.key == key } }

  mutating func take(_ key: String) -> Item? {
    guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
    let entry = entries.remove(at: index)
    return Item(property: entry.value, place: place.key(key, line: entry.value.line))
  }

  /// A text; other types are reported and left out.
  mutating func text(_ key: String, _ report: inout ImportReport) -> (value: String, place: KeyPath)? {
    guard let item = take(key) else { return nil }
    if let text = item.text { return (text, item.place) }
    report.dropped(item.place, "expected a text, found \(item.property.kind)", weight: .error)
    return nil
  }

  /// A boolean: true or false, or a number that is 0 or not, because profiles use both.
  mutating func flag(_ key: String, _ report: inout ImportReport) -> (value: Bool, place: KeyPath)? {
    guard let item = take(key) else { return nil }
    switch item.property.content {
    case .boolean(let value): return (value, item.place)
    case .integer(let number) where number == 0 || number == 1: return (number == 1, item.place)
    case .real(let number) where number == 0 || number == 1: return (number == 1, item.place)
    default:
      report.dropped(item.place, "expected true or false (or 1 or 0), found \(item.property.kind)", weight: .error)
      return nil
    }
  }

  mutating func number(_ key: String, _ range: ClosedRange<Int64>, _ report: inout ImportReport) -> (value: Int64, place: KeyPath)? {
    guard let item = take(key) else { return nil }
    let value: Int64? =
      switch item.property.content {
      case .integer(let number): number
      case .real(let number): Int64(exactly: number)
      default: nil
      }
    if let value, range.contains(value) { return (value, item.place) }
    report.dropped(item.place, "expected a whole number from \(range.lowerBound) to \(range.upperBound)", weight: .error)
    return nil
  }

  /// A list of texts. A single text counts as a list, with a warning. Entries of other types are errors and left out.
  mutating func texts(_ key: String, _ report: inout ImportReport) -> (values: [Item], place: KeyPath)? {
    guard let item = take(key) else { return nil }
    if item.text != nil {
      report.changed(item.place, "a text where a list was expected; read as a list of one", weight: .warning)
      return ([item], item.place)
    }
    guard let items = item.items else {
      report.dropped(item.place, "expected a list of texts, found \(item.property.kind)", weight: .error)
      return nil
    }
    for item in items where item.text == nil {
      report.dropped(item.place, "expected a text, found \(item.property.kind)", weight: .error)
    }
    return (items.filter { $0.text != nil }, item.place)
  }

  /// Leaves keys out for a known reason.
  mutating func drop(_ keys: [String], reason: String, weight: ImportReport.Weight = .plain, _ report: inout ImportReport) {
    for key in keys {
      if let item = take(key) { report.dropped(item.place, reason, weight: weight) }
    }
  }

  /// Reports the remaining keys.
  mutating func finish(
    _ report: inout ImportReport, reason: String = "not a key that this importer knows", weight: ImportReport.Weight = .warning
  ) {
    drop(keys, reason: reason, weight: weight, &report)
  }
}
