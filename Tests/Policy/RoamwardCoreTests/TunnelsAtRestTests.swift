import NetworkTypes
import RoamwardCore
import SeededRandom
import TestKit
import Testing

/// A tunnel that is left out of a pass is one that the whole pass would leave as it is.
@Suite struct TunnelsAtRestTests {
  /// Seven tunnels by random rules: of both classes, one through another, with kill switches and settle times of their own.
  private func policies(_ random: inout SplitMix64) -> PolicySet {
    let matches: [Condition] = [
      .always, .ssid([Sample.ssid("A")]), .ssid([Sample.ssid("B")]), .metered(true), .not(.ssid([Sample.ssid("A")])),
    ]
    let actions: [Action] = [.connect, .disconnect, .ignore]
    let tunnels = (0..<7).map { number in
      let rules = (0..<3).map { _ in Sample.rule(random.pick(matches), random.pick(actions)) }
      var tunnel = Sample.tunnel(
        "t\(number)", rules: rules, precedence: random.chance(0.4) ? .enterprise : .personal, isEnabled: random.chance(0.9))
      if number == 6, random.chance(0.5) { tunnel.through = OuterTunnel("t\(random.pick(Array(0..<6)))", location: Sample.place()) }
      if random.chance(0.2) { tunnel.killSwitch = .on }
      tunnel.onDemand.timing = Timing(
        settle: random.chance(0.1) ? .seconds(3) : nil, releaseDelay: .seconds(Int64(random.next() % 5)), decideWithin: .seconds(2))
      return tunnel
    }
    return PolicySet(tunnels: tunnels)
  }

  private func snapshot(_ random: inout SplitMix64) -> NetworkSnapshot {
    if random.chance(0.1) { return NetworkSnapshot() }
    var link = Sample.wifi(random.pick(["A", "B", "C"]))
    link.metered = random.pick([.known(true), .known(false), .unknown(reason: "not yet")])
    return Sample.network(link)
  }

  /// Returns how many verdicts were left out.
  private func live(_ random: inout SplitMix64, as set: PolicySet) -> Int {
    var (whole, lean) = (DecisionScheduler(), DecisionScheduler())
    var (running, network, second, left): (Set<String>, NetworkSnapshot, Int64, Int) = ([], NetworkSnapshot(), 0, 0)
    for _ in 0..<60 {
      second += Int64(random.next() % 4)
      let (now, time) = (Moment(nanoseconds: 0) + .seconds(second), Timestamp(seconds: second))
      if random.chance(0.4) {
        network = snapshot(&random)
        whole.restartWaits(hasNetwork: network.primaryLink != nil)
        lean.restartWaits(hasNetwork: network.primaryLink != nil)
      }
      if random.chance(0.1) {
        let (name, override) = (random.pick(set.tunnels).name, ManualOverride(wantsUp: random.chance(0.5), since: time, lifetime: .resume))
        #expect(whole.override(name, override, of: set) == lean.override(name, override, of: set))
      }
      if random.chance(0.1) { #expect(whole.resume(nil) == lean.resume(nil)) }
      let settlesAt = random.chance(0.3) ? now + .seconds(1) : nil
      let present = running
      let all = whole.decide(on: set, network, settlesAt: settlesAt, at: now, time: time, isRunning: present.contains)
      let some = lean.decide(
        on: set, network, settlesAt: settlesAt, at: now, time: time, isComplete: false, isRunning: present.contains)
      let byName = Dictionary(uniqueKeysWithValues: some.map { ($0.policy.name, $0) })
      left += all.count - some.count
      for verdict in all {
        let name = verdict.policy.name
        if let same = byName[name] {
          #expect(same == verdict)
        } else {
          #expect(!verdict.isNews && !running.contains(name) && [.down, .unchanged].contains(verdict.intent))
          #expect(verdict.guarding == verdict.intent && verdict.policy.killSwitch == .off)
        }
        #expect(whole.timers(of: name, at: now, time: time) == lean.timers(of: name, at: now, time: time))
        if !lean.timed.contains(name) { #expect(whole.timers(of: name, at: now, time: time).isEmpty) }
        switch verdict.intent {
        case .up: running.insert(name)
        case .down: running.remove(name)
        case .armed, .watched, .unchanged: break
        }
      }
      #expect(lean.all == all.map(\.decision) && lean.decisions == whole.decisions)
      #expect(
        whole.nextDeadline(of: set, network, seen: now, at: now, time: time)
          == lean.nextDeadline(of: set, network, seen: now, at: now, time: time))
    }
    return left
  }

  @Test("random lives: what is left out is down, is no news, and has no timer", arguments: 1...40) func lives(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let set = policies(&random)
    _ = live(&random, as: set)
  }

  @Test("most of many tunnels are left out") func leaves() {
    var random = SplitMix64(seed: 7)
    let idle = PolicySet(tunnels: (0..<50).map { Sample.tunnel("t\($0)", rules: [Sample.rule(.always, .disconnect)]) })
    #expect(live(&random, as: idle) > 1_000)
  }
}
