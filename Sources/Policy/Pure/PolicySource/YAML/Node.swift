package import RoamwardCore

/// A node of a YAML or JSON file, and its place. Scalars have no type: their reader interprets the text.
package struct Node: Hashable, Sendable {
  package indirect enum Content: Hashable, Sendable {
    /// An empty value after the colon or the dash, or a plain `~`.
    case null
    /// A scalar; a plain one has no quotes.
    case scalar(String, isPlain: Bool)
    case sequence([Node])
    /// Entries in the order of the file; no duplicate keys.
    case mapping([Entry])
    /// A node that was already reported, such as an alias. Readers ignore it without a report.
    case refused
  }

  package struct Entry: Hashable, Sendable {
    package let key: String
    package let keyLocation: SourceLocation
    package let value: Node
  }

  package let content: Content
  package let location: SourceLocation

  /// The kind of node, for a message: `found a list`.
  package var kind: String {
    switch content {
    case .null: "nothing"
    case .scalar(let text, _): quoted(text)
    case .sequence: "a list"
    case .mapping: "a mapping"
    case .refused: "something that is not allowed"
    }
  }
}
