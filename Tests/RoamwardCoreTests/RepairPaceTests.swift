import NetworkTypes
import RoamwardCore
import TestKit
import Testing

@Suite struct RepairPaceTests {
  func at(_ milliseconds: Int64) -> Moment { Moment(nanoseconds: 0) + .milliseconds(milliseconds) }

  @Test("a few repairs are made at once; then ever more seldom; and when it is over, at once again") func backsOff() {
    var pace = RepairPace()
    var repairs: [Int64] = []
    // Undone again 10 ms after every repair, and asked for every 10 ms.
    var now: Int64 = 0
    while now < 120_000 {
      if pace.repair([.routes], at: at(now)).isEmpty { repairs.append(now) }
      now += 10
    }
    #expect(repairs.prefix(5) == [0, 10, 20, 30, 40])
    let gaps = zip(repairs.dropFirst(5), repairs.dropFirst(4)).map { $0 - $1 }
    #expect(gaps == [1000, 2000, 4000, 8000, 16_000, 32_000])
    #expect(pace.contested(at: at(now)) == [.routes])
    #expect(pace.words(for: .routes).contains("at most every 64 s"))
    // Twice the wait of 64 s after the last repair, at 63.04 s.
    #expect(pace.endOfContests(at: at(now)) == at(40 + 63_000 + 128_000))
    let later = now + 200_000
    #expect(pace.contested(at: at(later)).isEmpty && pace.endOfContests(at: at(later)) == nil)
    #expect(pace.repair([.routes], at: at(later)).isEmpty && pace.repair([.routes], at: at(later + 10)).isEmpty)
  }

  @Test("the firewall never waits longer than a second") func firewall() {
    var pace = RepairPace()
    var last: Int64 = 0
    var longest: Int64 = 0
    for now in stride(from: Int64(0), to: 600_000, by: 50) where pace.repair([.firewall], at: at(now)).isEmpty {
      longest = max(longest, now - last)
      last = now
    }
    #expect(longest == 1000)
  }

  @Test("a waiting subject says until when, and does not hold up another one") func apart() {
    var pace = RepairPace()
    for _ in 0..<5 { #expect(pace.repair([.routes], at: at(0)).isEmpty) }
    #expect(pace.repair([.routes, .rules], at: at(10)) == [.routes: at(1000)])
    #expect(pace.contested(at: at(10)) == [.routes])
  }

  @Test("slow repairs, one a minute, are never a war") func slow() {
    var pace = RepairPace()
    for minute in 0..<100 { #expect(pace.repair([.link("corp")], at: at(Int64(minute) * 61_000)).isEmpty) }
    #expect(pace.contested(at: at(100 * 61_000)).isEmpty)
  }

  @Test("what is put right is told from what is new") func subjects() {
    let setup = RoutePolicyTests().setup(RoutePolicy(include: [Sample.prefix("10.0.0.0/8")]))
    let wanted = DesiredState(of: [setup], on: UnderlayFit(NetworkSnapshot()))
    let steps = Plan(from: ObservedState(), to: wanted).steps
    #expect(wanted.repairs(by: steps, since: DesiredState()).allSatisfy { $0 == nil })
    let repairs = wanted.repairs(by: steps, since: wanted)
    #expect(Set(repairs) == [.link("corp"), .routes, .rules])
    // Going down in good order is no repair.
    let down = Plan(from: ObservedState(kernel: KernelState(routes: wanted.routes, rules: wanted.rules)), to: DesiredState()).steps
    #expect(down.count == wanted.routes.count + wanted.rules.count)
    #expect(DesiredState().repairs(by: down, since: wanted).allSatisfy { $0 == nil })
    // Somebody else's, with our marks, is.
    let stray = Step.removeRoute(Route(to: Sample.prefix("10.9.0.0/16"), on: "lo", table: 21_500))
    #expect(wanted.repairs(by: [stray], since: wanted) == [.routes])
  }
}
