import GatewayCore
import NetworkTypes
import SeededRandom
import Testing

@Suite("The times at which a gateway reads its store without an event") struct RefreshPaceTests {
  private let begin = Moment(nanoseconds: 1_000_000_000)

  @Test("events leave the next time as it is; the store's server is asked more often than a file") func periods() {
    for (place, period) in [(RefreshPace.Place.file, Duration.seconds(15)), (.server, .seconds(5))] {
      var pace = RefreshPace(place)
      let well = RefreshPace.Access.reading(nextAttempt: nil)
      #expect(pace.plan(isOnTime: false, from: well, to: well, at: begin) == begin + period)
      #expect(pace.plan(isOnTime: false, from: well, to: well, at: begin + .seconds(3)) == nil)
      #expect(pace.plan(isOnTime: true, from: well, to: well, at: begin + period) == begin + period + period)
    }
  }

  @Test("the first failure is followed by the next attempt, as soon as a connection may be made; later ones wait for their time")
  func failures() {
    var pace = RefreshPace(.server)
    let (well, soon) = (RefreshPace.Access.reading(nextAttempt: nil), begin + .seconds(1))
    _ = pace.plan(isOnTime: true, from: well, to: well, at: begin)
    let away = RefreshPace.Access.away(nextAttempt: soon)
    #expect(pace.plan(isOnTime: false, from: well, to: away, at: begin) == soon)
    #expect(pace.plan(isOnTime: false, from: away, to: away, at: begin) == nil)
    // An attempt on time that fails as well.
    let later = RefreshPace.Access.away(nextAttempt: soon + .seconds(2))
    #expect(pace.plan(isOnTime: true, from: away, to: later, at: soon) == soon + .seconds(5))
    // The reading is well, and a note in the store failed.
    let back = RefreshPace.Access.reading(nextAttempt: soon + .seconds(2))
    #expect(pace.plan(isOnTime: true, from: later, to: back, at: soon + .seconds(5)) == soon + .seconds(10))
    let noted = RefreshPace.Access.reading(nextAttempt: soon + .seconds(7))
    #expect(pace.plan(isOnTime: false, from: back, to: noted, at: soon + .seconds(6)) == soon + .seconds(7))
    // The connection is back.
    #expect(pace.plan(isOnTime: false, from: noted, to: well, at: soon + .seconds(6)) == nil)
    // A server that may be asked late is asked on time all the same.
    let slow = RefreshPace.Access.away(nextAttempt: soon + .seconds(60))
    #expect(pace.plan(isOnTime: false, from: noted, to: slow, at: soon + .seconds(7)) == soon + .seconds(12))
  }

  @Test("in any order of events and failures, a refresh on time is planned, and never more than a period away", arguments: 1...40)
  func anyOrder(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let place: RefreshPace.Place = random.chance(0.5) ? .file : .server
    let period = place == .file ? RefreshPace.period : RefreshPace.serverPeriod
    var pace = RefreshPace(place)
    var (now, access) = (begin, RefreshPace.Access.reading(nextAttempt: nil))
    var due: Moment?
    for _ in 0..<300 {
      let event = now + .milliseconds(Int64(random.next() % 4000))
      let isOnTime = due.map { $0 <= event } ?? false
      if let due, isOnTime { now = due } else { now = event }
      let attempt: Moment? = random.chance(0.5) ? now + .milliseconds(Int64(1 + random.next() % 60_000)) : nil
      let after: RefreshPace.Access = random.chance(0.5) ? .reading(nextAttempt: attempt) : .away(nextAttempt: attempt)
      let next = pace.plan(isOnTime: isOnTime, from: access, to: after, at: now)
      #expect(next != nil || due != nil && !isOnTime, "nothing is planned")
      #expect(next.map { $0 > now && $0 <= now + period } ?? true)
      (due, access) = (next ?? due, after)
    }
  }
}
