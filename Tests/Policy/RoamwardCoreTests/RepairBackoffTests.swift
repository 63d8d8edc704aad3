import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

@Suite struct RepairBackoffTests {
  func at(_ milliseconds: Int64) -> Moment { Moment(nanoseconds: 0) + .milliseconds(milliseconds) }

  @Test("a few repairs are made at once; then ever more seldom; and when it is over, at once again") func backsOff() {
    var backoff = RepairBackoff()
    var repairs: [Int64] = []
    // Undone again 10 ms after every repair, and asked for every 10 ms.
    var now: Int64 = 0
    while now < 120_000 {
      if backoff.repair([.routes], at: at(now)).isEmpty { repairs.append(now) }
      now += 10
    }
    #expect(repairs.prefix(5) == [0, 10, 20, 30, 40])
    let gaps = zip(repairs.dropFirst(5), repairs.dropFirst(4)).map { $0 - $1 }
    #expect(gaps == [1000, 2000, 4000, 8000, 16_000, 32_000])
    #expect(backoff.contested(at: at(now)) == [.routes])
    #expect(backoff.text(for: .routes).contains("at most every 64 s"))
    // Twice the wait of 64 s after the last repair, at 63.04 s.
    #expect(backoff.endOfContests(at: at(now)) == at(40 + 63_000 + 128_000))
    let later = now + 200_000
    #expect(backoff.contested(at: at(later)).isEmpty && backoff.endOfContests(at: at(later)) == nil)
    #expect(backoff.repair([.routes], at: at(later)).isEmpty && backoff.repair([.routes], at: at(later + 10)).isEmpty)
  }

  @Test("the firewall never waits longer than a second") func firewall() {
    var backoff = RepairBackoff()
    var last: Int64 = 0
    var longest: Int64 = 0
    for now in stride(from: Int64(0), to: 600_000, by: 50) where backoff.repair([.firewall], at: at(now)).isEmpty {
      longest = max(longest, now - last)
      last = now
    }
    #expect(longest == 1000)
  }

  @Test("a waiting subject says until when, and does not hold up another one") func apart() {
    var backoff = RepairBackoff()
    for _ in 0..<5 { #expect(backoff.repair([.routes], at: at(0)).isEmpty) }
    #expect(backoff.repair([.routes, .rules], at: at(10)) == [.routes: at(1000)])
    #expect(backoff.contested(at: at(10)) == [.routes])
  }

  @Test("slow repairs, one a minute, are never a war") func slow() {
    var backoff = RepairBackoff()
    for minute in 0..<100 { #expect(backoff.repair([.link("corp")], at: at(Int64(minute) * 61_000)).isEmpty) }
    #expect(backoff.contested(at: at(100 * 61_000)).isEmpty)
  }

  private let setup = RoutePolicyTests().setup(RoutePolicy(include: [Sample.prefix("10.0.0.0/8")]))

  /// The state of a machine after the steps of a plan.
  private func machine(after steps: [Step]) -> ObservedState {
    var state = SimulatedState()
    state.apply(steps)
    return state.observed
  }

  private func followed(_ applied: AppliedState, _ observed: ObservedState, towards desired: DesiredState) -> AppliedState {
    var applied = applied
    applied.follow(observed, towards: desired)
    return applied
  }

  @Test("only what the agent made and another has changed is a repair") func subjects() {
    let wanted = DesiredState(of: [setup], on: UnderlayFit(NetworkSnapshot()))
    var applied = followed(AppliedState(ObservedState()), ObservedState(), towards: wanted)
    let steps = Plan(from: ObservedState(), to: wanted).steps
    #expect(steps.allSatisfy { applied.repair(by: $0) == nil })
    for step in steps { applied.take(step) }
    // Nothing of it is there any more.
    #expect(Set(steps.map(applied.repair)) == [.link("corp"), .routes, .rules])
    // Going down in good order is no repair, and neither is coming up again.
    let nothing = followed(applied, machine(after: steps), towards: DesiredState())
    let down = Plan(from: machine(after: steps), to: DesiredState()).steps
    #expect(down.count == wanted.routes.count + wanted.rules.count + 1)
    #expect(down.allSatisfy { nothing.repair(by: $0) == nil })
    var empty = nothing
    for step in down { empty.take(step) }
    let again = followed(empty, ObservedState(), towards: wanted)
    #expect(steps.allSatisfy { again.repair(by: $0) == nil })
    // Also where another has removed it first, and nothing had to be done.
    let gone = followed(followed(applied, ObservedState(), towards: DesiredState()), ObservedState(), towards: wanted)
    #expect(steps.allSatisfy { gone.repair(by: $0) == nil })
    // Somebody else's, with our marks, is.
    #expect(applied.repair(by: .removeRoute(Route(to: Sample.prefix("10.9.0.0/16"), on: "lo", table: 21_500))) == .routes)
  }

  @Test("what an earlier agent left is removed without a word") func left() {
    let wanted = DesiredState(of: [setup], on: UnderlayFit(NetworkSnapshot()))
    let left = machine(after: Plan(from: ObservedState(), to: wanted).steps)
    let applied = followed(AppliedState(left), left, towards: DesiredState())
    #expect(Plan(from: left, to: DesiredState()).steps.allSatisfy { applied.repair(by: $0) == nil })
  }

  @Test("a change of the desired state and a removal are never delayed; what needs a delayed step waits with it") func neverDelayed() {
    let wanted = DesiredState(of: [setup], on: UnderlayFit(NetworkSnapshot()))
    let steps = Plan(from: ObservedState(), to: wanted).steps
    var applied = followed(AppliedState(ObservedState()), ObservedState(), towards: wanted)
    for step in steps { applied.take(step) }
    var backoff = RepairBackoff()
    for _ in 0..<5 { #expect(backoff.admit(steps, after: applied, at: at(0)).steps == steps) }
    let admitted = backoff.admit(steps, after: applied, at: at(10))
    #expect(admitted.steps == [] && admitted.repairs == [] && admitted.nextRepair == at(1000))
    let new: [Step] = [
      .addRule(RoutingRule(family: .v4, priority: 21_001, table: 21_001)),
      .removeRule(RoutingRule(family: .v4, priority: 21_002, table: 21_002)),
      .setMTU(link: "other", mtu: 1400, was: 1420), .removeRoute(Route(to: Sample.prefix("10.9.0.0/16"), on: "lo", table: 21_500)),
    ]
    #expect(backoff.admit(steps + new, after: applied, at: at(20)).steps == new)
    // A stranger's route in the place of one of ours stays until ours may come.
    let route = wanted.routes[0]
    var stranger = route
    stranger.kind = .unreachable
    #expect(backoff.admit([.removeRoute(stranger), .addRoute(route)], after: applied, at: at(30)).steps == [])
    // Another configuration cannot be given to a link that is not there.
    let other = WireGuardDevice(engine: .kernel, privateKey: Sample.secretKey(9), publicKey: Sample.key(8))
    applied.take(.configureWireGuard(link: "corp", other))
    #expect(backoff.admit(steps, after: applied, at: at(40)).steps == [])
  }

  @Test(
    "of very many routes, each is told apart as by sets, in any order of lists, steps and strangers", arguments: 0..<120 as Range<UInt64>)
  func routes(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let isSorted = random.chance(0.7)
    func routes() -> [Route] {
      let some = (0..<Int(random.next() % 12)).map { _ in
        Route(to: Sample.prefix("10.\(random.next() % 12).0.0/16"), on: "corp", table: 21_500 + UInt32(random.next() % 2))
      }
      let each = Array(Set(some))
      return isSorted ? each.sorted { $0.precedes($1) } : each.shuffled(using: &random)
    }
    var (applied, present) = (AppliedState(ObservedState()), Set<Route>())
    var (wanted, unmade, stale): (Set<Route>, Set<Route>, Set<Route>) = ([], [], [])
    for _ in 0..<12 {
      var desired = DesiredState()
      desired.routes = routes()
      var observed = ObservedState()
      observed.kernel.routes = isSorted ? present.sorted { $0.precedes($1) } : present.shuffled(using: &random)
      applied.follow(observed, towards: desired)
      if Set(desired.routes) != wanted {
        let wasMade = { [wanted, unmade, stale] (route: Route) in wanted.contains(route) ? !unmade.contains(route) : stale.contains(route) }
        (wanted, unmade, stale) = (
          Set(desired.routes), Set(desired.routes).subtracting(present).filter { !wasMade($0) },
          present.subtracting(desired.routes).filter(wasMade)
        )
      }
      let steps =
        (desired.routes + routes()).shuffled(using: &random).map { Step.addRoute($0) }
        + present.map { Step.removeRoute($0) }
      for (step, subject) in zip(steps, applied.repairs(by: steps)) {
        switch step {
        case .addRoute(let route): #expect((subject == nil) == unmade.contains(route), "\(route)")
        case .removeRoute(let route): #expect((subject == nil) == stale.contains(route), "\(route)")
        default: break
        }
      }
      for step in steps where random.chance(0.5) {
        applied.take(step)
        switch step {
        case .addRoute(let route) where wanted.contains(route):
          unmade.remove(route)
          present.insert(route)
        case .removeRoute(let route):
          stale.remove(route)
          present.remove(route)
        default: break
        }
      }
      // Another program takes one away.
      if random.chance(0.3), let lost = present.first { present.remove(lost) }
    }
  }

  @Test("two states that the agent makes in turn are no repairs") func turns() {
    let kept = WireGuardDevice(
      engine: .kernel, privateKey: Sample.secretKey(1), publicKey: Sample.key(2),
      peers: [WireGuardPeer(publicKey: Sample.key(3), endpoint: Sample.endpoint("203.0.113.10:51820"), allowedIPs: [])])
    var asking = kept
    asking.peers[0].persistentKeepalive = 5
    var applied = AppliedState(ObservedState())
    for device in [kept, asking, kept, asking, kept] {
      let step = Step.configureWireGuard(link: "corp", device)
      #expect(applied.repair(by: step) == nil)
      applied.take(step)
      // An endpoint that another name server gives is set with the next change alone.
      #expect(applied.repair(by: step) == .link("corp"))
    }
  }
}
