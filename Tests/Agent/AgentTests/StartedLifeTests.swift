import Lives
import RoamwardCore
import SeededRandom
import Testing

@testable import AgentCore

/// The lives of commands and services, as machines without a clock: random orders of events, and the orders that matter.
@Suite struct StartedLifeTests {
  /// Programs of a tunnel: one at a time, and one `down` for each `up`.
  private struct Programs {
    var running: CommandAction?
    var isDownDue = false
    var trouble: [String] = []

    mutating func take(_ effects: [CommandLife.Effect]) {
      for effect in effects {
        switch effect {
        case .run(let action):
          if let running { trouble.append("\(action) beside \(running)") }
          if action == .up, isDownDue { trouble.append("`up` twice") }
          if action != .up, !isDownDue { trouble.append("\(action) before `up`") }
          if action == .up { isDownDue = true }
          running = action
        case .runOtherDown:
          if running != nil { trouble.append("another `down` beside a program") }
          (running, isDownDue) = (.down, true)
        case .end, .cut: if running == nil { trouble.append("the end of nothing") }
        case .forgetNote:
          if !isDownDue { trouble.append("a note was forgotten twice") }
          isDownDue = false
        case .report, .changed: break
        }
      }
    }
  }

  @Test("in random orders of events, one program of a tunnel runs at a time, and each `up` has one `down`", arguments: [true, false])
  func commands(hasStatus: Bool) {
    let requests: [CommandLife.Event] = [.prepare, .prepare, .probePeer, .askAgain, .tearDown, .tearDown]
    for seed in UInt64(1)...2000 {
      var random = SplitMix64(seed: seed)
      var (life, programs) = (CommandLife(hasStatus: hasStatus), Programs())
      if seed.isMultiple(of: 3) {
        programs.isDownDue = true
        programs.take(life.handle(seed.isMultiple(of: 2) ? .takeOver : .replace))
      }
      for _ in 0..<40 {
        if programs.running != nil, Bool.random(using: &random) {
          programs.running = nil
          programs.take(life.handle(.ended(Bool.random(using: &random) ? .succeeded : .failed(reason: "status 1"))))
        } else {
          programs.take(life.handle(requests.randomElement(using: &random) ?? .tearDown))
        }
        #expect(programs.trouble.isEmpty, "seed \(seed)")
        #expect(!life.isTornDown || programs.running == nil && !programs.isDownDue, "seed \(seed)")
      }
      // An end: everything that was started ends by itself.
      programs.take(life.handle(.tearDown))
      for _ in 0..<3 where programs.running != nil {
        programs.running = nil
        programs.take(life.handle(.ended(.succeeded)))
      }
      #expect(life.isTornDown && programs.running == nil && !programs.isDownDue && programs.trouble.isEmpty, "seed \(seed)")
    }
  }

  @Test("`up` that is not wanted any more is ended, and `down` comes before the next `up`; only its result is reported")
  func restart() {
    var life = CommandLife(hasStatus: false)
    #expect(life.handle(.prepare) == [.run(.up)])
    #expect(life.handle(.tearDown) == [.end])
    #expect(life.handle(.prepare) == [])
    #expect(life.handle(.ended(.succeeded)) == [.run(.down), .changed])
    #expect(life.handle(.ended(.succeeded)) == [.forgetNote, .run(.up), .changed])
    #expect(life.handle(.ended(.succeeded)) == [.report(.prepared), .changed])
    #expect(life.handle(.probePeer) == [.report(.peerAnswered)])
  }

  @Test("a status that is not there yet is queried again when the agent asks, and on another network after the one that runs")
  func status() {
    var life = CommandLife(hasStatus: true)
    _ = life.handle(.prepare)
    _ = life.handle(.ended(.succeeded))
    #expect(life.handle(.probePeer) == [.run(.status)])
    #expect(life.handle(.askAgain) == [])
    #expect(life.handle(.ended(.failed(reason: "status 1"))) == [.changed])
    #expect(life.handle(.askAgain) == [.run(.status)])
    #expect(life.handle(.probePeer) == [])
    #expect(life.handle(.ended(.succeeded)) == [.run(.status), .report(.peerAnswered), .changed])
    #expect(life.handle(.ended(.succeeded)) == [.report(.peerAnswered), .changed])
  }

  @Test("a tunnel that was left runs nothing, and a `down` that was cut short before it began keeps its note")
  func ends() {
    var left = CommandLife(hasStatus: true)
    _ = left.handle(.takeOver)
    _ = left.handle(.probePeer)
    #expect(left.handle(.handOver) == [.end])
    #expect(left.isLeft && !left.isTornDown)
    #expect(left.handle(.cutShort) == [] && left.handle(.tearDown) == [] && left.handle(.prepare) == [])
    #expect(left.handle(.ended(.failed(reason: "signal 15"))) == [.changed])
    #expect(left.isTornDown)

    var cut = CommandLife(hasStatus: true)
    _ = cut.handle(.prepare)
    _ = cut.handle(.tearDown)
    #expect(cut.handle(.cutShort) == [.cut])
    #expect(!cut.isTornDown)
    #expect(cut.handle(.ended(.failed(reason: "signal 9"))) == [.changed])
    #expect(cut.isTornDown)
  }

  @Test("in random orders of events, each start of a service has one stop, and late news of earlier attempts do nothing")
  func services() {
    for seed in UInt64(1)...2000 {
      var random = SplitMix64(seed: seed)
      var life = ServiceLife()
      var (starts, stops): ([LifeToken], [LifeToken]) = ([], [])
      var (isStarted, isStopping) = (false, false)
      var effects: [ServiceLife.Effect] = []
      func take() {
        for effect in effects {
          switch effect {
          case .start(let attempt, _):
            #expect(!isStarted && !isStopping, "a start beside another: seed \(seed)")
            (isStarted, starts) = (true, starts + [attempt])
          case .stop(let attempt), .stopOther(let attempt):
            #expect(!isStopping, "two stops: seed \(seed)")
            (isStarted, isStopping, stops) = (false, true, stops + [attempt])
          case .report, .changed: break
          }
        }
      }
      for number in 0..<40 {
        var event = [.prepare, .probePeer, .tearDown, .tearDown].randomElement(using: &random) ?? ServiceLife.Event.tearDown
        // A restart goes through a release.
        if event == .prepare, isStarted { event = .tearDown }
        if number == 0 { event = [.takeOver, .replace, .stopLeft].randomElement(using: &random) ?? event }
        if let start = starts.randomElement(using: &random), Bool.random(using: &random) {
          event = Bool.random(using: &random) ? .isRunning(start) : .ended(start, reason: "status 1")
          let isLate = start != starts.last || !isStarted
          let before = life
          effects = life.handle(event)
          #expect(!isLate || effects.isEmpty && life == before, "late news: seed \(seed)")
          continue
        }
        if let stop = stops.randomElement(using: &random), Bool.random(using: &random) {
          event = .stopped(stop)
          if stop == stops.last, isStopping { isStopping = false } else { #expect(life.handle(event) == [], "seed \(seed)") }
        }
        effects = life.handle(event)
        take()
        #expect(life.isWatched == isStarted && life.isTornDown == (!isStarted && !isStopping), "seed \(seed)")
      }
    }
  }

  @Test("a service that is wanted again while it stops starts after that, and one that was taken over answers at once")
  func serviceOrders() {
    var life = ServiceLife()
    guard case .start(let left, isTakenOver: true) = life.handle(.takeOver).first else {
      Issue.record("not taken over")
      return
    }
    #expect(life.handle(.isRunning(left)) == [.report(.peerAnswered), .changed])
    #expect(life.handle(.isRunning(left)) == [])
    guard case .stop(let stop) = life.handle(.tearDown).first else {
      Issue.record("not stopped")
      return
    }
    #expect(life.handle(.prepare) == [])
    #expect(life.handle(.isRunning(left)) == [])
    guard case .start(let next, isTakenOver: false) = life.handle(.stopped(stop)).first else {
      Issue.record("not started again")
      return
    }
    #expect(life.handle(.isRunning(next)) == [.report(.prepared), .changed])
    #expect(life.handle(.handOver) == [] && life.isTornDown)
  }
}
