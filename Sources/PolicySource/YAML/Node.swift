import RoamwardCore

/// A piece of a YAML or JSON file, and where it begins. Scalars have no type: what a text means is for its reader to say.
struct Node: Hashable, Sendable {
  indirect enum Content: Hashable, Sendable {
    /// Nothing after the colon or the dash, or a plain `~`.
    case null
    /// A plain scalar stands without quotes.
    case scalar(String, isPlain: Bool)
    case sequence([Node])
    /// In the order of the file; no key twice.
    case mapping([Entry])
    /// Something that has been reported already, such as an alias. Readers pass over it in silence.
    case refused
  }

  struct Entry: Hashable, Sendable {
    let key: String
    let keyLocation: SourceLocation
    let value: Node
  }

  let content: Content
  let location: SourceLocation

  /// What it is, for a message: `found a list`.
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
