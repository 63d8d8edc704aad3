import Lives
import NetworkTypes
import SeededRandom
import Testing

@testable import WorkerLife

@Suite("The life of a worker in its parent") struct WorkerLifeTests {
  private let start = Moment(nanoseconds: 1_000_000_000_000)

  private func token(_ token: LifeToken?) throws -> LifeToken { try #require(token) }

  @Test("it is started, says hello, works, rests and is ended; the next one is another") func life() throws {
    var life = WorkerLife("worker", WorkerLife.Limits(greeting: .seconds(10)))
    #expect(!life.isRunning && life.deadline == nil && life.end() == [])
    let first = try token(life.start(at: start))
    let another = life.start(at: start)
    #expect(another == nil && life.isRunning && !life.hasGreeted && life.deadline == start + .seconds(10))
    // Without its hello it is not at rest.
    life.rest(until: start + .seconds(1))
    #expect(life.deadline == start + .seconds(10))
    let hellos = [life.greeted(), life.greeted()]
    #expect(hellos == [true, false] && life.hasGreeted && life.deadline == nil)
    life.rest(until: start + .seconds(40))
    #expect(life.deadline == start + .seconds(40) && life.pass(at: start + .seconds(39)) == [])
    life.work()
    #expect(life.deadline == nil)
    life.rest(until: start + .seconds(50))
    #expect(life.pass(at: start + .seconds(50)) == [.end] && !life.isRunning)
    let second = try token(life.start(at: start + .seconds(60)))
    #expect(second != first && life.fail(first, .ended(code: 0), at: start) == [] && life.isRunning)
  }

  @Test("one that says no hello in time has failed") func silent() throws {
    var life = WorkerLife("worker", WorkerLife.Limits(greeting: .seconds(10)))
    _ = life.start(at: start)
    let effects = life.pass(at: start + .seconds(10))
    #expect(effects == [.end, .failed("worker does not come up within 10.0 seconds")])
    #expect(life.obstacle(at: start + .seconds(10)) == "worker does not come up within 10.0 seconds")
    #expect(life.pass(at: start + .seconds(11)) == [.mayStart(after: "worker does not come up within 10.0 seconds")])
    #expect(life.phase == .idle)
  }

  @Test("failures have longer pauses, up to a minute; one long after the last counts as the first") func pauses() throws {
    var life = WorkerLife("worker")
    var (now, pauses): (Moment, [Duration]) = (start, [])
    for _ in 0..<8 {
      let run = try token(life.start(at: now))
      #expect(life.fail(run, .ended(code: 137), at: now) == [.end, .failed("worker has ended by signal 9")])
      let end = try #require(life.mayStart)
      pauses.append(end - now)
      #expect(life.obstacle(at: now) == "worker has ended by signal 9" && life.obstacle(at: end) == nil)
      now = end
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
    let run = try token(life.start(at: now))
    _ = life.fail(run, .ended(code: nil), at: now + .seconds(121))
    #expect(life.mayStart == now + .seconds(122))
  }

  @Test("a pause is cut short by a start, goes on after an end, and is prolonged without words") func pausing() {
    var life = WorkerLife("worker")
    #expect(life.fail("the port is taken", at: start) == [.failed("the port is taken")])
    #expect(life.end() == [] && life.mayStart == start + .seconds(1))
    life.postpone("the port is taken", at: start + .seconds(1))
    #expect(life.mayStart == start + .seconds(3))
    let run = life.start(at: start + .seconds(2))
    #expect(run != nil && life.mayStart == nil)
    life.postpone("late", at: start + .seconds(2))
    #expect(life.isRunning)
  }

  @Test(
    "one that has proved itself for a while is started again at once",
    arguments: [(true, 11, true), (true, 9, false), (false, 11, false)])
  func settled(isProven: Bool, seconds: Int, isAtOnce: Bool) throws {
    var life = WorkerLife("worker", WorkerLife.Limits(settled: .seconds(10)))
    let run = try token(life.start(at: start))
    _ = life.greeted()
    if isProven { life.prove() }
    _ = life.fail(run, .broke("no"), at: start + .seconds(seconds))
    #expect((life.phase == .idle) == isAtOnce)
  }

  @Test("the words of its troubles") func words() {
    let troubles: [WorkerTrouble] = [
      .ended(code: 7), .ended(code: 139), .ended(code: nil), .broke("x"), .unread("x"), .refuses("x"), .silent(.seconds(1)),
    ]
    #expect(
      troubles.map { $0.words(of: "w") } == [
        "w has ended with status 7", "w has ended by signal 11", "w has ended", "w broke the protocol: x",
        "w does not read its messages: x", "w cannot work: x", "w does not come up within 1.0 seconds",
      ])
  }

  @Test(
    "random lives: one process at a time, one end for each start, a reason for each pause, nothing late",
    arguments: 0..<200 as Range<UInt64>)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var life = WorkerLife("worker", WorkerLife.Limits(greeting: .seconds(10), settled: random.chance(0.5) ? .seconds(10) : nil))
    var now = start
    var (runs, running): ([LifeToken], Bool) = ([], false)
    var (starts, ends) = (0, 0)
    func take(_ effects: [WorkerLife.Effect]) {
      for effect in effects {
        switch effect {
        case .end:
          #expect(running)
          (running, ends) = (false, ends + 1)
        case .failed(let text): #expect(!running && !text.isEmpty)
        case .mayStart(let text): #expect(!running && !text.isEmpty && life.phase == .idle)
        }
      }
    }
    for _ in 0..<400 {
      switch random.next() % 12 {
      case 0, 1:
        guard let token = life.start(at: now) else { break }
        #expect(!running && !runs.contains(token))
        runs.append(token)
        (running, starts) = (true, starts + 1)
      case 2:
        let isAwaited = life.greeted()
        #expect(!isAwaited || running)
      case 3: life.prove()
      case 4: life.work()
      case 5: life.rest(until: now + .seconds(5))
      case 6: take(life.end())
      case 7: if let last = runs.last { take(life.fail(last, .ended(code: 1), at: now)) }
      case 8:
        // A late word of an earlier process.
        if let old = runs.dropLast().last { #expect(life.fail(old, .ended(code: 1), at: now) == []) }
      case 9: if random.chance(0.3) { take(life.fail("no port", at: now)) }
      case 10: life.postpone("no port", at: now)
      default:
        now = now + .milliseconds(Int64(random.next() % 20_000))
        take(life.pass(at: now))
        #expect(life.deadline.map { $0 > now } ?? true, "a deadline that has passed does not stay")
      }
      #expect(life.isRunning == running && starts - ends == (running ? 1 : 0))
      #expect((life.mayStart != nil) == (life.deadline != nil && !running))
      if let end = life.mayStart { #expect(end - now <= .seconds(60)) }
    }
    #expect(starts > 5)
  }
}
