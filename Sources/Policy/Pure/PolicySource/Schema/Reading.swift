package import RoamwardCore

/// The context for reading one file from a tree to values: collects problems and other findings.
package struct Reading {
  let source: SourceText
  package internal(set) var problems: DiagnosticList
  /// Finds the other files that this one names; absent if it must not name any.
  var surroundings: Surroundings?
  /// References to networks, resolved after all files are read.
  var references: [NetworkReference] = []
  /// The empty keys of the match that is being read.
  var emptyCriteria: [EmptyCriterion] = []
  /// The rules of the tunnel that is being read that say `evaluate-connection` without `connections`.
  var rulesWithoutConnections: [SourceLocation] = []

  package init(_ source: SourceText, problems: DiagnosticList) { self.init(source, problems: problems, surroundings: nil) }

  init(_ source: SourceText, problems: DiagnosticList = DiagnosticList(), surroundings: Surroundings?) {
    self.source = source
    self.problems = problems
    self.surroundings = surroundings
  }

  package mutating func error(_ message: @autoclosure () -> String, help: @autoclosure () -> String? = nil, at place: SourceLocation) {
    problems.add(.error, message(), help: help(), at: place, in: source)
  }

  package mutating func warning(_ message: @autoclosure () -> String, help: @autoclosure () -> String? = nil, at place: SourceLocation) {
    problems.add(.warning, message(), help: help(), at: place, in: source)
  }

  /// Reports a node of the wrong kind, unless it was already refused.
  package mutating func expected(_ what: String, at node: Node, help: @autoclosure () -> String? = nil) {
    if case .refused = node.content { return }
    error("expected \(what), found \(node.kind)", help: help(), at: node.location)
  }
}

/// A place where a rule or a network names a network.
struct NetworkReference: Sendable {
  let name: String
  let location: SourceLocation
}
