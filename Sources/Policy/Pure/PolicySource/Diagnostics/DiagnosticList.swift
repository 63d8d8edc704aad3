internal import NetworkTypes
import RoamwardCore

/// The problems of one file, up to a number that a person can still read.
package struct DiagnosticList: Sendable {
  static let limit = 200

  private var items: [Diagnostic] = []
  private var counts: [Diagnostic.Severity: Int] = [:]

  package init() {}

  /// Sorted by place in the file. Problems of the same place keep their order.
  package var sorted: [Diagnostic] {
    items.enumerated().sorted {
      let (a, b) = ($0.element.location, $1.element.location)
      return (a.line, a.column, $0.offset) < (b.line, b.column, $1.offset)
    }.map(\.element)
  }

  var isEmpty: Bool { items.isEmpty }
  var errorCount: Int { counts[.error, default: 0] }
  package var hasErrors: Bool { errorCount > 0 }

  /// Past the limit nothing is computed any more: a line of 1 MiB with 100,000 errors costs no more than a small one.
  mutating func add(
    _ severity: Diagnostic.Severity, _ message: @autoclosure () -> String, help: @autoclosure () -> String? = nil, at place: SourceLocation,
    in source: SourceText
  ) {
    let count = counts[severity, default: 0] + 1
    counts[severity] = count
    if count <= Self.limit {
      items.append(source.diagnostic(severity, message(), help: help(), at: place))
    } else if count == Self.limit + 1 {
      items.append(Diagnostic(severity, "more than \(Self.limit) \(severity.rawValue)s; the rest is not listed", at: place))
    }
  }

  mutating func append(contentsOf others: [Diagnostic]) {
    for other in others {
      counts[other.severity, default: 0] += 1
      items.append(other)
    }
  }
}
