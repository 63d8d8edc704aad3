import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Notes that are not on disk: a disk with room again is no event.
@Suite("Notes that are not written") struct NotesTests {
  @Test("they are tried again every five seconds, until they are on disk") func again() {
    let life = WatchedAgent(Sample.tunnel("corp", rules: []), on: NetworkSnapshot())
    life.machine.disk.isFull = true
    life.start()
    life.machine.run(for: .seconds(2))
    let before = life.machine.log.noteWrites
    life.machine.run(for: .seconds(20))
    #expect((before + 3...before + 12).contains(life.machine.log.noteWrites))
    life.machine.disk.isFull = false
    life.machine.run(for: .seconds(10))
    let after = life.machine.log.noteWrites
    life.machine.run(for: .seconds(3600))
    #expect(life.machine.log.noteWrites == after && life.machine.isIdle)
  }
}
