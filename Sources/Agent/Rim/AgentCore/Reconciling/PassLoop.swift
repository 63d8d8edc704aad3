/// Tracks the pass under way. A pass that a callback requests during another one starts at its end.
final class PassLoop {
  private static let longest = 16

  private(set) var isPassing = false
  private var isDue = false
  private var rounds = 0

  /// Returns whether the pass may begin.
  func begin() -> Bool {
    guard !isPassing else {
      isDue = true
      return false
    }
    isPassing = true
    rounds = 0
    return true
  }

  /// Begins a round: it covers everything observed so far.
  func beginRound() {
    rounds += 1
    isDue = false
  }

  func demandAnotherRound() { isDue = true }

  var hasAnotherRound: Bool { isDue && rounds < Self.longest }

  func end() { isPassing = false }

  /// Runs the body; a pass that it requests is left to the pass that follows.
  func beforePass<Result>(_ body: () -> Result) -> Result {
    let wasPassing = isPassing
    isPassing = true
    defer { isPassing = wasPassing }
    return body()
  }
}
