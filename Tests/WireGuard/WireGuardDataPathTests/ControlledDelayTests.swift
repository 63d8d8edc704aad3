import NetworkTypes
import Testing

@testable import WireGuardDataPath

@Suite("A queue in which packets wait for too long")
struct ControlledDelayTests {
  private static let long: UInt64 = 500_000
  private static let delay = ControlledDelay(target: long, interval: 10_000_000)

  private func moment(_ milliseconds: Int) -> Moment { Moment(nanoseconds: 1_000_000_000 + UInt64(milliseconds) * 1_000_000) }

  /// The milliseconds at which one packet is to be marked, of a queue that one leaves in each, after waiting for so long.
  private func told(_ time: Range<Int>, wait: (Int) -> UInt64) -> [Int] {
    var delay = Self.delay
    return time.filter { delay.tells(of: wait($0), bytes: ControlledDelay.spacing, at: moment($0)) }
  }

  @Test("one that is short now and then is left alone, however long its bursts are")
  func bursts() {
    #expect(told(0..<5000) { $0 % 10 == 0 ? 0 : Self.long * 100 } == [])
    #expect(told(0..<5000) { $0 % 2 == 0 ? 0 : Self.long } == [])
    #expect(told(0..<5000) { _ in Self.long - 1 } == [])
  }

  @Test("one that stands is told of after the interval, and then ever sooner, by the square root, until it is short")
  func standing() {
    let told = told(0..<200) { _ in Self.long }
    #expect(told.first == 10 && told.count > 25, "\(told)")
    let gaps = zip(told.dropFirst(), told).map { $0 - $1 }
    #expect(gaps.first == 10 && gaps[1] >= 7 && gaps[1] <= 8 && (4...6).contains(gaps[3]), "\(gaps)")
    #expect(zip(gaps.dropFirst(), gaps).allSatisfy { $0 <= $1 + 1 })
  }

  @Test("what stands again soon after it was short has its interval again, and is told of as often as before; long after, as at first")
  func again() {
    let soon = told(0..<400) { $0 == 200 ? 0 : Self.long }
    let before = soon.filter { $0 < 200 }
    let after = soon.filter { $0 > 200 }
    #expect(after.first == 211 && after[1] - after[0] <= 3 && after.count > before.count, "\(soon)")
    let late = told(0..<1400) { (200..<1000).contains($0) ? 0 : Self.long }.filter { $0 > 200 }
    #expect(late.first == 1010 && late[1] == 1020, "\(late)")
  }

  @Test("where a batch takes long to work on, the interval is as long as four")
  func slow() {
    var delay = Self.delay
    let told = stride(from: 0, to: 400, by: 7).filter {
      delay.tells(of: Self.long, bytes: ControlledDelay.spacing, at: moment($0), work: 7_000_000)
    }
    #expect(told.first == 28 && told[1] - told[0] == 28, "\(told)")
    delay = Self.delay
    #expect((0..<20).filter { delay.tells(of: Self.long, bytes: ControlledDelay.spacing, at: moment($0), work: 1_000_000) }.first == 10)
  }

  @Test("a clock that goes back tells of nothing")
  func clock() {
    var delay = Self.delay
    let told = [500, 0, 509, 510].map { delay.tells(of: Self.long, bytes: ControlledDelay.spacing, at: moment($0)) }
    #expect(told == [false, false, false, true])
  }

  @Test("a sender that never slows down loses one full segment in 1,500, after a first 32, however long it goes on")
  func deafSender() {
    var delay = Self.delay
    // 4 Gbit/s, in superpackets, for 20 s.
    let superpacket = 64_000
    let told = (0..<156_000).filter { delay.tells(of: Self.long, bytes: superpacket, at: moment($0 * 128 / 1000)) }
    #expect(told.count <= 32 + 156_000 * superpacket / ControlledDelay.spacing + 1 && told.count > 4000, "\(told.count)")
    // They come sooner than that allows only at the start.
    #expect(told.count { $0 < 1000 } > 30)
  }

  @Test("a longer target is kept where more flows share the time")
  func longerTarget() {
    var delay = Self.delay
    let told = (0..<200).filter { delay.tells(of: Self.long, bytes: ControlledDelay.spacing, at: moment($0), atLeast: Self.long + 1) }
    #expect(told == [])
  }
}

@Suite("The longest wait in a queue whose senders do not slow down")
struct LongestWaitTests {
  private func moment(_ milliseconds: Int) -> Moment { Moment(nanoseconds: 1_000_000_000 + UInt64(milliseconds) * 1_000_000) }

  @Test("what has waited for longer is dropped once the queue has stood for a second, until one has not")
  func bound() {
    var longest = LongestWait()
    let dropped = (0..<3000).filter { longest.isExceeded(by: $0 < 2500 ? LongestWait.limit + 1 : LongestWait.limit, at: moment($0)) }
    #expect(dropped == Array(1000..<2500))
  }

  @Test("what came while nobody read is not dropped: it is worked off within a second")
  func lateTurn() {
    var longest = LongestWait()
    let dropped = (0..<4000).filter { longest.isExceeded(by: (10..<900).contains($0 % 1000) ? 3_000_000_000 : 0, at: moment($0)) }
    #expect(dropped == [])
  }
}
