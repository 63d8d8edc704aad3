package import Testing

/// As `#expect`, but the comment is made only where the condition does not hold: of large values it costs more than what it is about, and a
/// test of random lives has thousands.
package func expect(
  _ condition: Bool, _ about: @autoclosure () -> Comment, sourceLocation: SourceLocation = #_sourceLocation
) {
  if !condition { Issue.record(about(), sourceLocation: sourceLocation) }
}
