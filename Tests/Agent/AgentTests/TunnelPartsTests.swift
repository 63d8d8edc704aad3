import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import TestKit
import Testing

@testable import AgentCore

/// The values beside a tunnel's machine: the change to another provider, the tunnel that it goes through, its times and samples.
@Suite struct TunnelPartsTests {
  private static let other = Sample.tunnel("corp", rules: [], wireGuard: Sample.wireGuard(endpoint: "203.0.113.11:51820"))
  private static let third = Sample.tunnel("corp", rules: [], wireGuard: Sample.wireGuard(endpoint: "203.0.113.12:51820"))

  // MARK: Another provider

  @Test("a tunnel that was up comes up again after the change, in the slot that was reserved; one wanted down does not")
  func comesBack() {
    var replacement = Replacement.none
    replacement.begin(with: Self.other)
    replacement.want(.unchanged, now: .up) { _ in 7 }
    #expect(replacement.isPending && replacement.next == Self.other)
    #expect(replacement.comesBack == Replacement.Return(intent: .up, slot: 7))
    #expect(replacement.takeReturn() == Replacement.Return(), "not before the tunnel is down")
    // The machine is wanted down by now; the slot stays the same.
    replacement.want(.unchanged, now: nil) { _ in 8 }
    replacement.end()
    #expect(!replacement.isPending)
    #expect(replacement.takeReturn() == Replacement.Return(intent: .up, slot: 7))
    #expect(replacement == .none && replacement.takeReturn() == Replacement.Return())

    replacement.begin(with: Self.other)
    replacement.want(.armed, now: .up) { _ in 7 }
    replacement.want(.down, now: .armed) { _ in 7 }
    replacement.end()
    #expect(replacement.takeReturn() == Replacement.Return())
  }

  @Test("another change meanwhile keeps the wish and reserves another slot; a withdrawn one keeps the wish")
  func changesAgain() {
    var replacement = Replacement.none
    replacement.begin(with: Self.other)
    replacement.want(.up, now: nil) { _ in 7 }
    replacement.begin(with: Self.other)
    #expect(replacement.comesBack.slot == 7)
    replacement.begin(with: Self.third)
    #expect(replacement.next == Self.third && replacement.comesBack == Replacement.Return(intent: .up, slot: nil))
    replacement.want(.unchanged, now: nil) { $0 == Self.third ? 9 : 0 }
    replacement.end()
    #expect(replacement.next == nil && replacement.comesBack == Replacement.Return(intent: .up, slot: 9))
  }

  @Test("in random orders, a change ends once, a slot is reserved only for a wish, and the next start is told once")
  func randomChanges() {
    let intents: [Intent] = [.up, .down, .armed, .watched, .unchanged]
    for seed in UInt64(1)...500 {
      var random = SplitMix64(seed: seed)
      var replacement = Replacement.none
      var wish: Intent?
      for _ in 0..<40 {
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
          replacement.begin(with: Bool.random(using: &random) ? Self.other : Self.third)
          #expect(replacement.isPending)
        case 1: replacement.end()
        case 2:
          let isPending = replacement.isPending
          let back = replacement.takeReturn()
          #expect(!isPending || back == Replacement.Return(), "seed \(seed)")
          if !isPending {
            #expect(back.intent == wish, "seed \(seed)")
            wish = nil
          }
        default:
          let intent = intents.randomElement(using: &random) ?? .up
          let now: Intent? = Bool.random(using: &random) ? .up : nil
          guard replacement.isPending else { continue }
          replacement.want(intent, now: now) { _ in 3 }
          switch intent {
          case .up, .armed: wish = intent
          case .down: wish = nil
          case .watched, .unchanged: wish = now ?? wish
          }
        }
        let back = replacement.comesBack
        #expect(back.intent == wish && (back.slot == nil || back.intent != nil), "seed \(seed)")
      }
    }
  }

  // MARK: The outer tunnel

  @Test("a tunnel that is due waits for the outer one, and is behind as soon as that is connected") func waits() {
    var nesting = Nesting()
    nesting.want(isDue: true, isRunning: false, isOpen: false)
    #expect(nesting.awaitsOuter && nesting.isOuterLost(isRunning: false))
    #expect(!nesting.isBehind(isOpen: false, isRunning: false) && nesting.isBehind(isOpen: true, isRunning: false))
    #expect(nesting.take(isOpen: true, isRunning: false) == nil)
    #expect(nesting.isBehind(isOpen: true, isRunning: false), "only a wish starts it")
    nesting.want(isDue: true, isRunning: false, isOpen: true)
    #expect(!nesting.awaitsOuter && !nesting.isOuterLost(isRunning: true) && !nesting.isBehind(isOpen: true, isRunning: true))
  }

  @Test("a running tunnel takes each change of the outer one once") func news() {
    var nesting = Nesting()
    nesting.want(isDue: true, isRunning: false, isOpen: true)
    #expect(nesting.take(isOpen: true, isRunning: true) == nil)
    #expect(nesting.isBehind(isOpen: false, isRunning: true))
    #expect(nesting.take(isOpen: false, isRunning: true) == .followed(isOpen: false))
    #expect(nesting.take(isOpen: false, isRunning: true) == nil)
    #expect(nesting.isOuterLost(isRunning: true) && !nesting.isOuterLost(isRunning: false))
    // A wish does not change what a running tunnel has taken in.
    nesting.want(isDue: true, isRunning: true, isOpen: true)
    #expect(!nesting.awaitsOuter && nesting.take(isOpen: true, isRunning: true) == .followed(isOpen: true))
  }

  @Test("in random orders, no change of the outer tunnel is missed, and none is told twice") func randomNews() {
    for seed in UInt64(1)...500 {
      var random = SplitMix64(seed: seed)
      var (nesting, isOpen, isRunning, known) = (Nesting(), true, false, true)
      for _ in 0..<60 {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: isOpen.toggle()
        case 1:
          let isDue = Bool.random(using: &random)
          nesting.want(isDue: isDue, isRunning: isRunning, isOpen: isOpen)
          if !isRunning { (isRunning, known) = (isDue && !nesting.awaitsOuter, isOpen) }
          #expect(!nesting.awaitsOuter || !isOpen && !isRunning, "seed \(seed)")
        case 2: isRunning = isRunning && Bool.random(using: &random)
        default:
          let wasBehind = nesting.isBehind(isOpen: isOpen, isRunning: isRunning)
          let news = nesting.take(isOpen: isOpen, isRunning: isRunning)
          #expect((news != nil) == (isRunning && isOpen != known), "seed \(seed)")
          #expect(news == nil || wasBehind, "seed \(seed)")
          known = isOpen
          #expect(!isRunning || !nesting.isBehind(isOpen: isOpen, isRunning: true), "seed \(seed)")
        }
      }
    }
  }

  @Test("every wish but its own ends the wait for inner tunnels") func endsAfterInner() {
    var nesting = Nesting()
    nesting.want(isDue: false, isRunning: true, isOpen: true)
    nesting.endAfterInner()
    #expect(nesting.isToEndAfterInner)
    nesting.want(isDue: false, isRunning: true, isOpen: true)
    #expect(!nesting.isToEndAfterInner)
  }

  // MARK: Times and samples

  @Test("a tunnel that reconnects on another network counts as connected all along") func times() {
    var times = StateTimes(at: Timestamp(seconds: 1))
    times.enter(.preparing(attempt: 1, deadline: Moment(nanoseconds: 0)), after: .disconnected, at: Timestamp(seconds: 2))
    #expect(times.since == Timestamp(seconds: 2))
    times.enter(.connected, after: .applying(attempt: 1, deadline: Moment(nanoseconds: 0)), at: Timestamp(seconds: 3))
    times.enter(.reasserting(deadline: nil), after: .connected, at: Timestamp(seconds: 4))
    #expect(times.since == Timestamp(seconds: 4) && times.connectedSince == Timestamp(seconds: 3))
    times.enter(.connected, after: .reasserting(deadline: nil), at: Timestamp(seconds: 5))
    #expect(times.since == Timestamp(seconds: 3))
    times.enter(.disconnecting, after: .connected, at: Timestamp(seconds: 6))
    times.enter(.connected, after: .applying(attempt: 1, deadline: Moment(nanoseconds: 0)), at: Timestamp(seconds: 7))
    #expect(times.since == Timestamp(seconds: 7))
  }

  @Test("a link without packets is idle at its limit, and each packet begins the time again") func idleLink() {
    let start = Moment(nanoseconds: 1_000_000_000)
    var sampling = TunnelSampling()
    #expect(sampling.idleEnd(.seconds(60)) == nil)
    sampling.begin(counters(10), endsWhenIdle: true, at: start)
    let early = sampling.take(counters(10), isConnected: true, limit: .seconds(60), at: start + .seconds(59))
    #expect(early == nil)
    let due = sampling.take(counters(10), isConnected: true, limit: .seconds(60), at: start + .seconds(60))
    #expect(due == .idle)
    // Also of a link that is gone.
    let gone = sampling.take(counters(nil), isConnected: true, limit: .seconds(60), at: start + .seconds(60))
    #expect(gone == .idle)
    let afterPackets = sampling.take(counters(1000), isConnected: true, limit: .seconds(60), at: start + .seconds(61))
    #expect(afterPackets == nil)
    sampling.endMeasuring()
    #expect(sampling.idleEnd(.seconds(60)) == nil)
  }

  /// Of a link without a WireGuard device.
  private func counters(_ packets: UInt64?) -> TunnelSampling.Counters {
    TunnelSampling.Counters(packets: { packets }, device: { nil })
  }

  @Test("another state ends the samples that it does not need, and a packet's watch only when the tunnel is not armed") func follows() {
    let start = Moment(nanoseconds: 1_000_000_000)
    var watch = PeerWatch()
    watch.sampling.begin(counters(10), endsWhenIdle: true, at: start)
    let end = watch.sampling.idleEnd(.seconds(60))
    watch.packets.packetCame(at: start)
    watch.follow(.armed, hasMoved: true, endsWhenIdle: true)
    #expect(end != nil && watch.sampling.idleEnd(.seconds(60)) == end && watch.packets.nextWatch != nil)
    watch.follow(.connected, hasMoved: true, endsWhenIdle: true)
    #expect(watch.sampling.idleEnd(.seconds(60)) == end && watch.packets.nextWatch == nil)
    watch.follow(.connected, hasMoved: false, endsWhenIdle: false)
    #expect(watch.sampling.idleEnd(.seconds(60)) == nil)
  }
}
