/// Which pass is under way. A pass that is asked for in the middle of one, from a callback, is taken up at its end.
final class PassLoop {
  private static let longest = 16

  private(set) var isPassing = false
  private var isDue = false
  private var rounds = 0

  /// Gives whether the pass may begin.
  func begin() -> Bool {
    guard !isPassing else {
      isDue = true
      return false
    }
    isPassing = true
    rounds = 0
    return true
  }

  /// What was seen until here is judged in this round.
  func beginRound() {
    rounds += 1
    isDue = false
  }

  func demandAnotherRound() { isDue = true }

  var hasAnotherRound: Bool { isDue && rounds < Self.longest }

  func end() { isPassing = false }

  /// What this brings about waits for the pass that has to follow.
  func beforePass<Result>(_ body: () -> Result) -> Result {
    let wasPassing = isPassing
    isPassing = true
    defer { isPassing = wasPassing }
    return body()
  }
}
