import NetworkTypes
import Testing

@Suite struct BackoffTests {
  @Test("doubles from the first pause to the longest, and begins again after a success") func doubling() {
    var backoff = Backoff(first: .seconds(1), longest: .seconds(5))
    #expect((0..<5).map { _ in backoff.fail() } == [1, 2, 4, 5, 5].map { .seconds($0) })
    backoff.reset()
    #expect(backoff.fail() == .seconds(1))
  }

  @Test("has no pause after no failure, and the longest after any number") func bounds() {
    let backoff = Backoff(first: .milliseconds(250), longest: .seconds(60))
    #expect(backoff.pause(after: 0) == .zero && backoff.pause(after: -1) == .zero)
    for failures in [9, 63, 64, .max] { #expect(backoff.pause(after: failures) == .seconds(60), "\(failures)") }
  }
}
