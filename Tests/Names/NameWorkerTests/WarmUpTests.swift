import Testing

@testable import NameWorker

@Suite("The warm-up of the name server's process") struct WarmUpTests {
  @Test("what is warmed up happens each time: an answer of the server, and one of the cache") func replies() {
    var warmUp = WarmUp()
    for _ in 0..<3 { #expect(warmUp.run() == 2) }
  }
}
