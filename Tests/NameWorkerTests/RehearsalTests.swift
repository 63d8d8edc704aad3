import Testing

@testable import NameWorker

@Suite("The rehearsal of the name server's process") struct RehearsalTests {
  @Test("what is rehearsed happens: an answer of the server, and one of the cache") func replies() { #expect(Rehearsal.run() == 2) }
}
