/// The named networks, as the conditions of rules find them.
package struct NetworkTable {
  package enum Entry {
    case defined(NamedNetwork)
    /// Its file could not be read completely: it may match or not.
    case opaque
    /// It is in no file: it never matches.
    case missing
  }

  private let byName: [String: NamedNetwork]
  private let unreliable: Set<String>

  package init(_ networks: [NamedNetwork], unreliable: Set<String> = []) {
    byName = Dictionary(networks.map { ($0.name, $0) }) { first, _ in first }
    self.unreliable = unreliable
  }

  package subscript(name: String) -> Entry {
    guard let network = byName[name] else { return unreliable.isEmpty ? .missing : .opaque }
    return unreliable.contains(network.location.file) ? .opaque : .defined(network)
  }

  /// The conditions, and those of all networks that they name, each once.
  package func closure(of conditions: [Condition]) -> [Condition] {
    var result = conditions
    var seen = Set<String>()
    var i = 0
    while i < result.count {
      for name in result[i].networksNamed where seen.insert(name).inserted {
        if case .defined(let network) = self[name] { result.append(network.condition) }
      }
      i += 1
    }
    return result
  }
}

extension Condition {
  /// Every key below the condition, without those of named networks.
  package func forEachKey(_ body: (Condition) -> Void) {
    switch self {
    case .all(let parts), .any(let parts): for part in parts { part.forEachKey(body) }
    case .not(let part): part.forEachKey(body)
    default: body(self)
    }
  }
}
