import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Notes that are not on disk: a disk with room again is no event.
@Suite("Notes that are not written") struct NotesTests {
  @Test("they are tried again after five seconds, and ever more rarely while the disk stays full; not at all once they are there")
  func again() {
    let life = WatchedAgent(Sample.tunnel("corp", rules: []), on: NetworkSnapshot())
    life.machine.disk.isFull = true
    life.start()
    func tries(in time: Duration) -> Int {
      let before = life.machine.log.noteWrites
      life.machine.run(for: time)
      return life.machine.log.noteWrites - before
    }
    #expect(tries(in: .seconds(6)) > 0)
    _ = tries(in: .seconds(600))
    // Each pass plans at most twice.
    #expect((12...26).contains(tries(in: .seconds(3600))), "every five minutes")
    life.machine.disk.isFull = false
    #expect(tries(in: .seconds(301)) > 0)
    #expect(tries(in: .seconds(3600)) == 0 && life.machine.isIdle)
  }
}
