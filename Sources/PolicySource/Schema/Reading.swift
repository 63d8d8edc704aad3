import RoamwardCore

/// One file on its way from tree to values: where problems, and what was found on the side, are gathered.
struct Reading {
  let source: SourceText
  var problems: DiagnosticList
  /// Finds the other files that this one names; absent where it may name none.
  var surroundings: Surroundings?
  /// Where networks are named, to be looked up once all files are read.
  var references: [NetworkReference] = []
  /// Keys of the match that is being read that have nothing behind them.
  var emptyCriteria: [EmptyCriterion] = []
  /// What this version does not act on, and has been told.
  private var limits: Set<String> = []

  init(_ source: SourceText, problems: DiagnosticList = DiagnosticList(), surroundings: Surroundings? = nil) {
    self.source = source
    self.problems = problems
    self.surroundings = surroundings
  }

  mutating func error(_ message: @autoclosure () -> String, help: @autoclosure () -> String? = nil, at place: SourceLocation) {
    problems.add(.error, message(), help: help(), at: place, in: source)
  }

  mutating func warning(_ message: @autoclosure () -> String, help: @autoclosure () -> String? = nil, at place: SourceLocation) {
    problems.add(.warning, message(), help: help(), at: place, in: source)
  }

  /// Says, at its first place in the file, that something is read and yet not acted on by this version.
  mutating func tellLimit(of name: String, _ limitation: String, help: String? = nil, at place: SourceLocation) {
    guard limits.insert(name).inserted else { return }
    warning("`\(name)` is read; \(limitation)", help: help, at: place)
  }

  /// Reports a node of the wrong kind; what has been refused before is not reported again.
  mutating func expected(_ what: String, at node: Node, help: @autoclosure () -> String? = nil) {
    if case .refused = node.content { return }
    error("expected \(what), found \(node.kind)", help: help(), at: node.location)
  }
}

/// A place where a rule or a network names a network.
struct NetworkReference {
  let name: String
  let location: SourceLocation
}
