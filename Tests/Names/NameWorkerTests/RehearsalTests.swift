import Testing

@testable import NameWorker

@Suite("The rehearsal of the name server's process") struct RehearsalTests {
  @Test("what is rehearsed happens each time: an answer of the server, and one of the cache") func replies() {
    var rehearsal = Rehearsal()
    for _ in 0..<3 { #expect(rehearsal.run() == 2) }
  }
}
