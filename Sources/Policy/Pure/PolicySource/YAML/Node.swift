import RoamwardCore

/// A node of a YAML or JSON file, and its place. Scalars have no type: their reader interprets the text.
struct Node: Hashable, Sendable {
  indirect enum Content: Hashable, Sendable {
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

  struct Entry: Hashable, Sendable {
    let key: String
    let keyLocation: SourceLocation
    let value: Node
  }

  let content: Content
  let location: SourceLocation

  /// The kind of node, for a message: `found a list`.
  var kind: String {
    switch content {
    case .null: "nothing"
    case .scalar(let text, _): quoted(text)
    case .sequence: "a list"
    case .mapping: "a mapping"
    case .refused: "something that is not allowed"
    }
  }
}
