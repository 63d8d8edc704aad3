import RoamwardCore

/// A key of a match with nothing behind it, such as a template leaves. It is not considered, so the match holds more often than it seems.
struct EmptyCriterion {
  /// `` `ssid` is empty``.
  let what: String
  /// What follows for the match: `is not considered`.
  var thus = "is not considered"
  let location: SourceLocation
}

extension Reading {
  /// Notes that a key is empty; whether that is a mistake depends on what the match is for.
  mutating func noteEmpty(_ entry: Node.Entry) {
    emptyCriteria.append(EmptyCriterion(what: "`\(entry.key)` is empty", location: entry.keyLocation))
  }

  /// Takes the notes since the last time.
  mutating func takeEmptyCriteria() -> [EmptyCriterion] {
    defer { emptyCriteria = [] }
    return emptyCriteria
  }
}

extension DiagnosticList {
  /// A rule that disconnects more often than it seems takes a tunnel down where nobody meant it to: there it is an error.
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

extension [Rule] {
  /// The networks on which some rule disconnects, by name, also through others.
  func networksToDisconnectOn(_ conditions: [String: Condition]) -> Set<String> {
    var names = Set<String>()
    var rest = filter { $0.action == .disconnect }.flatMap { networksNamed(in: $0.match) }
    while let name = rest.popLast() {
      if names.insert(name).inserted, let condition = conditions[name] { rest += networksNamed(in: condition) }
    }
    return names
  }
}
