import NetworkTypes
import RoamwardCore
import TestKit
import Testing

@Suite struct DisconnectDelayTests {
  func at(_ seconds: Int64) -> Moment { Moment(nanoseconds: 0) + .seconds(seconds) }

  @Test("protects at once, releases late") func asymmetric() {
    var machine = DisconnectDelay()
    #expect(machine.handle(.up, isRunning: false, delay: .seconds(5), at: at(0)) == .up)
    #expect(machine.handle(.down, isRunning: true, delay: .seconds(5), at: at(1)) == .unchanged)
    #expect(machine.releaseAt == at(6))
    #expect(machine.handle(.down, isRunning: true, delay: .seconds(5), at: at(5)) == .unchanged)
    #expect(machine.handle(.down, isRunning: true, delay: .seconds(5), at: at(6)) == .down)
    #expect(machine.releaseAt == nil)
  }

  @Test("wanted again in between, it stays, and the wait begins anew") func changesItsMind() {
    var machine = DisconnectDelay()
    _ = machine.handle(.down, isRunning: true, delay: .seconds(5), at: at(0))
    #expect(machine.handle(.up, isRunning: true, delay: .seconds(5), at: at(4)) == .up)
    #expect(machine.handle(.down, isRunning: true, delay: .seconds(5), at: at(6)) == .unchanged)
    #expect(machine.releaseAt == at(11))
  }

  @Test("what is down already needs no wait") func down() {
    var machine = DisconnectDelay()
    #expect(machine.handle(.down, isRunning: false, delay: .seconds(5), at: at(0)) == .down)
    #expect(machine.releaseAt == nil)
  }

  @Test("stays up for its least time, counted from its start; whatever protects or stands above the rules does not wait") func dwells() {
    var machine = DisconnectDelay()
    func handle(_ intent: Intent, isRunning: Bool = true, _ second: Int64) -> Intent {
      machine.handle(intent, isRunning: isRunning, delay: .seconds(5), dwell: .seconds(60), at: at(second))
    }
    #expect(handle(.up, isRunning: false, 10) == .up)
    #expect(handle(.down, 20) == .unchanged && machine.releaseAt == at(70))
    #expect(handle(.up, 30) == .up && machine.releaseAt == nil)
    #expect(handle(.down, 68) == .unchanged && machine.releaseAt == at(73), "then the usual delay is the longer one")
    #expect(handle(.down, 73) == .down)
    #expect(handle(.down, isRunning: false, 74) == .down)
    #expect(handle(.up, isRunning: false, 80) == .up, "up again at once")
    #expect(handle(.down, 81) == .unchanged && machine.releaseAt == at(140))
    machine.cancel(isRunning: true, at: at(90))
    #expect(machine.releaseAt == nil)
  }

  @Test("a tunnel that flaps is released ever later, up to five minutes; ten quiet minutes forgive it") func flapping() {
    var machine = DisconnectDelay()
    var now = at(0)
    var delays: [Duration] = []
    for _ in 0..<9 {
      _ = machine.handle(.down, isRunning: true, delay: .seconds(5), at: now)
      guard let due = machine.releaseAt else { break }
      delays.append(due - now)
      now = due
      #expect(machine.handle(.down, isRunning: true, delay: .seconds(5), at: now) == .down)
    }
    #expect(delays.prefix(7).elementsEqual([5, 10, 20, 40, 80, 160, 300].map { .seconds($0) }))
    now = now + .seconds(601)
    _ = machine.handle(.down, isRunning: true, delay: .seconds(5), at: now)
    #expect(machine.releaseAt == now + .seconds(5))
  }
}

@Suite struct TimeWindowTests {
  static let work = TimeWindow(days: [.mon, .tue, .wed, .thu, .fri], from: 8 * 60, to: 18 * 60)
  static let night = TimeWindow(days: [.fri], from: 22 * 60, to: 6 * 60)

  @Test(
    "windows of the clock, past midnight too",
    arguments: [
      (work, Weekday.mon, 8, 0, true), (work, .mon, 7, 59, false), (work, .fri, 17, 59, true), (work, .fri, 18, 0, false),
      (work, .sat, 12, 0, false), (night, .fri, 22, 0, true), (night, .fri, 21, 59, false), (night, .sat, 5, 59, true),
      (night, .sat, 6, 0, false), (night, .fri, 3, 0, false), (night, .sat, 23, 0, false), (TimeWindow(), .sun, 23, 59, true),
    ])
  func contains(window: TimeWindow, day: Weekday, hour: Int, minute: Int, expected: Bool) {
    #expect(window.contains(LocalTime(day: day, second: hour * 3600 + minute * 60)) == expected)
  }

  @Test("the next edge is a second to a day away, and no verdict changes before it") func edges() {
    for window in [Self.work, Self.night, TimeWindow(from: 0, to: 1440)] {
      for second in stride(from: 0, to: 86_400, by: 1711) {
        let now = LocalTime(day: .fri, second: second)
        let wait = window.secondsToEdge(after: now)
        #expect((1...86_400).contains(wait))
        let before = second + wait - 1
        let just = LocalTime(day: before < 86_400 ? .fri : .sat, second: before % 86_400)
        let crossesMidnight = before >= 86_400
        #expect(crossesMidnight || window.contains(now) == window.contains(just))
      }
    }
  }
}

@Suite struct DecisionSchedulerTests {
  let home = Sample.network(Sample.wifi("Home"))
  let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1"))
  let start = Moment(nanoseconds: 0)

  func policies(_ rules: [Rule], timing: Timing = Timing(releaseDelay: .seconds(5))) -> PolicySet {
    var tunnel = Sample.tunnel(rules: rules)
    tunnel.onDemand.timing = timing
    return PolicySet(tunnels: [tunnel])
  }

  @Test("a hold for a time ends by itself, and says when to ask again") func timedHold() {
    var decisions = DecisionScheduler()
    let set = policies([Sample.rule(.always, .connect)])
    decisions.override("corp", ManualOverride(wantsUp: false, since: 1000, lifetime: .time(2800)))
    let verdict = decisions.decide(on: set, cafe, at: start, time: 1000) { _ in false }
    #expect(verdict.map(\.intent) == [.down])
    #expect(decisions.nextDeadline(of: set, cafe, seen: start, at: start, time: 1000) == start + .seconds(1800))
    #expect(decisions.endOverrides(at: 2799, on: NetworkIdentity(of: cafe)) == [])
    #expect(decisions.endOverrides(at: 2800, on: NetworkIdentity(of: cafe)) == ["corp"])
    #expect(decisions.decide(on: set, cafe, at: start, time: 2800) { _ in false }.map(\.intent) == [.up])
  }

  @Test("a hold until the network changes outlasts being without one, and not another") func networkHold() {
    let override = ManualOverride(wantsUp: false, since: 0, lifetime: .network(NetworkIdentity(of: cafe)))
    #expect(!override.isOver(at: 1, on: NetworkIdentity(of: cafe)))
    #expect(!override.isOver(at: 1, on: NetworkIdentity(of: NetworkSnapshot())))
    #expect(override.isOver(at: 1, on: NetworkIdentity(of: home)))
    #expect(!ManualOverride(wantsUp: true, since: 0, lifetime: .resume).isOver(at: .distantFuture, on: NetworkIdentity(of: home)))
  }

  @Test("a person does not wait for the release delay") func heldDown() {
    var decisions = DecisionScheduler()
    let set = policies([Sample.rule(.always, .disconnect)])
    #expect(decisions.decide(on: set, cafe, at: start, time: 0) { _ in true }.map(\.intent) == [.unchanged])
    #expect(decisions.nextDeadline(of: set, cafe, seen: start, at: start, time: 0) == start + .seconds(5))
    decisions.override("corp", ManualOverride(wantsUp: false, since: 0, lifetime: .resume))
    #expect(decisions.decide(on: set, cafe, at: start, time: 0) { _ in true }.map(\.intent) == [.down])
  }

  @Test("rules by the clock are looked at when the clock comes to them") func clock() {
    var network = cafe
    network.time = .known(LocalTime(day: .mon, second: 7 * 3600))
    let set = policies([Sample.rule(.time(TimeWindowTests.work), .connect), Sample.rule(.always, .disconnect)])
    var decisions = DecisionScheduler()
    #expect(decisions.decide(on: set, network, at: start, time: 0) { _ in false }.map(\.intent) == [.down])
    #expect(decisions.nextDeadline(of: set, network, seen: start, at: start, time: 0) == start + .seconds(3600))
    // Half an hour later, without a new look at the clock, it is still eight o'clock that counts.
    let later = start + .seconds(1800)
    #expect(decisions.nextDeadline(of: set, network, seen: start, at: later, time: 1800) == start + .seconds(3600))
  }

  @Test("a tunnel may give the network longer to settle; others and people do not wait for it") func settle() {
    var slow = Sample.tunnel("slow", rules: [Sample.rule(.always, .connect)])
    slow.onDemand.timing.settle = .seconds(3)
    let set = PolicySet(tunnels: [slow, Sample.tunnel("quick", rules: [Sample.rule(.always, .connect)])])
    var decisions = DecisionScheduler()
    let soon = start + .seconds(1)
    #expect(decisions.decide(on: set, cafe, changed: start, at: soon, time: 0) { _ in false }.map(\.intent) == [.unchanged, .up])
    #expect(decisions.nextDeadline(of: set, cafe, seen: soon, at: soon, time: 0) == start + .seconds(3))
    let later = start + .seconds(3)
    #expect(decisions.decide(on: set, cafe, changed: start, at: later, time: 0) { _ in false }.map(\.intent) == [.up, .up])
    #expect(decisions.nextDeadline(of: set, cafe, seen: later, at: later, time: 0) == nil)
    decisions.override("slow", ManualOverride(wantsUp: true, since: 0, lifetime: .resume))
    #expect(decisions.decide(on: set, cafe, changed: start, at: soon, time: 0) { _ in false }.map(\.intent) == [.up, .up])
  }

  @Test("only news is news") func news() {
    var decisions = DecisionScheduler()
    let set = policies([Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.always, .connect)])
    let told = [home, home, cafe, cafe, home].map { network in
      decisions.decide(on: set, network, at: start, time: 0) { _ in false }[0].isNews
    }
    #expect(told == [true, false, true, false, true])
  }
}
