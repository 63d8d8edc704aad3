/// A message of vici, the interface of strongSwan's daemon charon: keys with values, lists and sections, in their order.
/// (README of strongSwan's vici plugin, "Message format".)
package struct VICIMessage: Hashable, Sendable {
  package indirect enum Content: Hashable, Sendable {
    case value([UInt8])
    case list([[UInt8]])
    case section(VICIMessage)
  }

  package struct Element: Hashable, Sendable {
    package var key: String
    package var content: Content

    package init(_ key: String, _ content: Content) {
      self.key = key
      self.content = content
    }
  }

  package var elements: [Element]

  package init(_ elements: [Element] = []) { self.elements = elements }

  /// The content of the first element with this key.
  package subscript(key: String) -> Content? { elements.first { $0.key == key }?.content }

  package func text(_ key: String) -> String? {
    guard case .value(let bytes) = self[key] else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  package func texts(_ key: String) -> [String] {
    guard case .list(let items) = self[key] else { return [] }
    return items.map { String(decoding: $0, as: UTF8.self) }
  }

  package func section(_ key: String) -> VICIMessage? {
    guard case .section(let section) = self[key] else { return nil }
    return section
  }

  /// Sections with their names.
  package var sections: [(name: String, section: VICIMessage)] {
    elements.compactMap { if case .section(let section) = $0.content { ($0.key, section) } else { nil } }
  }
}

extension VICIMessage.Element {
  package static func text(_ key: String, _ text: String) -> Self { .init(key, .value(Array(text.utf8))) }
  package static func texts(_ key: String, _ texts: [String]) -> Self { .init(key, .list(texts.map { Array($0.utf8) })) }
  package static func section(_ key: String, _ elements: [VICIMessage.Element]) -> Self { .init(key, .section(VICIMessage(elements))) }
}
