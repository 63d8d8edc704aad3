import NetworkTypes
import Testing

@testable import WireGuardDataPath

@Suite("A queue that stands")
struct StandingQueueTests {
  private func moment(_ milliseconds: Int) -> Moment { Moment(nanoseconds: 1_000_000_000 + UInt64(milliseconds) * 1_000_000) }

  /// The milliseconds at which one packet is to be marked, of a queue that is looked at in each, and is empty in these.
  private func told(_ time: Range<Int>, emptyAt: (Int) -> Bool) -> [Int] {
    var queue = StandingQueue()
    return time.filter { now in
      if emptyAt(now) {
        queue.empty()
        return false
      }
      return queue.stands(at: moment(now))
    }
  }

  @Test("one that is empty now and then is left alone, however long its bursts are")
  func bursts() {
    #expect(told(0..<5000) { $0 % 100 == 0 } == [])
    #expect(told(0..<5000) { $0 % 2 == 0 } == [])
  }

  @Test("one that is never empty is told of after 100 ms, and then ever sooner, by the square root, until it has been empty")
  func standing() {
    let told = told(0..<1000) { _ in false }
    #expect(told.first == 100 && told.count > 15)
    let gaps = zip(told.dropFirst(), told).map { $0 - $1 }
    #expect(gaps.first == 100 && gaps[1] == 71 && gaps[3] == 50)
    #expect(zip(gaps.dropFirst(), gaps).allSatisfy { $0 <= $1 + 1 })
  }

  @Test("what stands again after it was empty has its 100 ms again, and is told of more often than at first")
  func again() {
    let told = told(0..<1000) { $0 == 500 }
    let later = told.filter { $0 > 500 }
    #expect(later.first == 601 && told.filter { $0 < 500 }.count < later.count)
  }

  @Test("a clock that goes back tells of nothing")
  func clock() {
    var queue = StandingQueue()
    #expect(
      !queue.stands(at: moment(500)) && !queue.stands(at: moment(0)) && !queue.stands(at: moment(599)) && queue.stands(at: moment(600)))
  }
}
