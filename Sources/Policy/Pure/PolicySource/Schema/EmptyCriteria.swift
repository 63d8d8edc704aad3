import RoamwardCore

/// A key of a match without a value, for example from a template. It is ignored, so the match matches more often than it seems.
struct EmptyCriterion: Sendable {
  /// The subject of the message: `` `ssid` is empty``.
  let what: String
  /// The consequence for the match: `is not considered`.
  var thus = "is not considered"
  let location: SourceLocation
}

extension Reading {
  /// Records that a key is empty. The use of the match decides if that is a mistake.
  mutating func recordEmpty(_ entry: Node.Entry) {
    emptyCriteria.append(EmptyCriterion(what: "`\(entry.key)` is empty", location: entry.keyLocation))
  }

  /// Removes and returns the recorded criteria.
  mutating func takeEmptyCriteria() -> [EmptyCriterion] {
    defer { emptyCriteria = [] }
    return emptyCriteria
  }
}

extension DiagnosticList {
  /// Reports an empty criterion. It is an error in a rule that disconnects, which would take a tunnel down more often than intended.
  mutating func add(_ criterion: EmptyCriterion, disconnects: Bool, in source: SourceText) {
    if disconnects {
      add(
        .error, "\(criterion.what) under `action: disconnect`: it \(criterion.thus), and the tunnel goes down without it",
        help: "say what it is to be compared with, or remove the key if the tunnel is to go down without it", at: criterion.location,
        in: source)
    } else {
      add(
        .warning, "\(criterion.what) and so \(criterion.thus)", help: "remove it, or say what it is to be compared with",
        at: criterion.location, in: source)
    }
  }
}

/// The names of the networks on which some rule disconnects, also through other networks.
func networksToDisconnectOn(_ rules: some Sequence<Rule>, _ condition: (String) -> Condition?) -> Set<String> {
  var names = Set<String>()
  var rest = rules.filter { $0.action == .disconnect }.flatMap { $0.match.networksNamed }
  while let name = rest.popLast() {
    if names.insert(name).inserted, let condition = condition(name) { rest += condition.networksNamed }
  }
  return names
}
