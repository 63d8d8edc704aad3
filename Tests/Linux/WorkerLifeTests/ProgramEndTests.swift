import NetworkTypes
import SeededRandom
import Testing

@testable import WorkerLife

@Suite("The end of a program and of its group") struct ProgramEndTests {
  private let start = Moment(nanoseconds: 1_000_000_000_000)

  @Test("they are asked to end, and killed two seconds later; the last has ended when the group is empty") func end() {
    var end = ProgramEnd()
    #expect(end.isRunning && end.look(isPopulated: false, at: start) == [])
    #expect(end.end(at: start) == [.ask, .look] && end.end(at: start) == [])
    #expect(end.look(isPopulated: false, at: start) == [.lookLater], "the program itself runs")
    #expect(end.exited(0, at: start) == [.look] && !end.isRunning)
    #expect(end.look(isPopulated: true, at: start + .seconds(1)) == [.lookLater])
    #expect(end.look(isPopulated: true, at: start + .seconds(2)) == [.kill, .lookLater])
    #expect(end.look(isPopulated: false, at: start + .seconds(2)) == [.over(code: 0)] && end.phase == .over)
  }

  @Test("an exit asks the rest of its group; a cut kills at once") func exit() {
    var end = ProgramEnd()
    #expect(end.exited(nil, at: start) == [.ask, .look] && end.end(at: start) == [])
    #expect(end.cut(at: start) == [.look] && end.look(isPopulated: true, at: start) == [.kill, .lookLater])
    #expect(end.look(isPopulated: false, at: start) == [.over(code: nil)])
  }

  @Test("over random events there is one last effect", arguments: 0..<100 as Range<UInt64>) func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var (end, now, hasExited, overs, asks) = (ProgramEnd(), start, false, 0, 0)
    for _ in 0..<60 {
      now = now + .milliseconds(Int64(random.next() % 500))
      let effects: [ProgramEnd.Effect]
      switch random.next() % 4 {
      case 0: effects = end.end(at: now)
      case 1: effects = random.chance(0.2) ? end.cut(at: now) : []
      case 2 where !hasExited:
        hasExited = true
        effects = end.exited(1, at: now)
      default: effects = end.look(isPopulated: random.chance(0.5), at: now)
      }
      if overs > 0 { #expect(effects == []) }
      asks += effects.count { $0 == .ask }
      if effects.contains(.over(code: 1)) {
        overs += 1
        #expect(hasExited)
      }
    }
    #expect(overs <= 1 && asks <= 1 && (overs == 1) == (end.phase == .over))
  }
}
