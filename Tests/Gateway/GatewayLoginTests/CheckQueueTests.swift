import GatewayCore
import GatewayLogin
import LoginProtocol
import NetworkTypes
import SeededRandom
import Testing

@Suite("Checks of passwords and tokens") struct CheckQueueTests {
  private static let atWork = 4

  /// A gateway with its threads and its service around the checks of conversations. Each effect is checked.
  private struct World {
    var queue = CheckQueue(atWork: CheckQueueTests.atWork)
    /// Conversations that wait for an answer.
    var waiting: Set<UInt32> = []
    /// Those of them about whose password the gateway was asked, whose token it checks, whose hash a thread compares, or that the service
    /// checks.
    var (named, tokens, judged, served): (Set<UInt32>, Set<UInt32>, Set<UInt32>, Set<UInt32>) = ([], [], [], [])
    var refused = 0
    var late = 0
    var last: UInt32 = 0
    var now = Moment(nanoseconds: 1_000_000_000)
    /// Since when each waits for its check by the gateway, or by the service.
    var since: [UInt32: Moment] = [:]

    /// Whether the queue has a place for another check by the gateway, and by the service.
    var hasPlace: Bool { named.count + tokens.count + judged.count < CheckQueueTests.atWork }

    /// Whether it begins before its client gives up.
    private func isInTime(_ number: UInt32) -> Bool { since[number].map { now - $0 <= CheckQueue.patience } ?? false }

    mutating func take(_ effects: [CheckQueue.Effect]) {
      for effect in effects {
        switch effect {
        case .ask(.credential(let number, _)):
          #expect(waiting.contains(number) && isInTime(number) && named.insert(number).inserted)
        case .ask(.token(let number, _)):
          #expect(waiting.contains(number) && isInTime(number) && tokens.insert(number).inserted)
        case .judge(let number, _, let hash, _, _):
          #expect(waiting.contains(number) && (!hash.isEmpty || isInTime(number)) && judged.insert(number).inserted)
          named.remove(number)
        case .ask(.password(let number, _, _)), .ask(.decoy(let number, _)):
          #expect(waiting.contains(number) && isInTime(number) && served.insert(number).inserted)
        case .ask(let request): Issue.record("\(request)")
        case .busy(let number):
          refused += 1
          if !isInTime(number) { late += 1 }
          #expect(waiting.contains(number) && !isChecked(number))
          answer(number, .busy)
        }
      }
      #expect(named.count + tokens.count + judged.count <= CheckQueueTests.atWork && served.count <= PAMLimits.checks)
      #expect(queue.secrets.isSubset(of: waiting.subtracting(judged).subtracting(tokens).subtracting(served)))
    }

    func isChecked(_ number: UInt32) -> Bool {
      [named, tokens, judged, served].contains { $0.contains(number) }
    }

    private mutating func forget(_ number: UInt32) {
      waiting.remove(number)
      named.remove(number)
      tokens.remove(number)
      judged.remove(number)
      served.remove(number)
    }

    mutating func answer(_ number: UInt32, _ answer: LoginAnswer) {
      queue.answered(number, answer)
      if case .prompt = answer { return }
      forget(number)
      take(queue.begin(at: now))
    }

    mutating func leave(_ number: UInt32) {
      queue.end(number)
      forget(number)
      take(queue.begin(at: now))
    }

    mutating func add(_ random: inout SplitMix64) {
      last += 1
      waiting.insert(last)
      since[last] = now
      let address = IPAddress(v4: 0xcb00_7100 + UInt32(random.next() % 8))
      switch Int(random.next() % 8) {
      case 0: take(queue.addDecoy(of: last, from: address, at: now))
      case 1...2: take(queue.add(.token([1]), of: last, from: address, at: now))
      case 3: take(queue.add(.password(nil, [1]), of: last, from: address, at: now))
      default: take(queue.add(.password(GatewayName("alice"), [1]), of: last, from: address, at: now))
      }
    }
  }

  private static let address = IPAddress(v4: 0xcb00_7101)

  @Test("over random logins, no place is lost, none is given twice, and no secret outlives its use", arguments: 0..<100)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var world = World()
    let crowd = random.chance(0.5) ? 8 : 400
    let slowness = [0, 10, 100, 1_000][Int(seed % 4)]
    for _ in 0..<2_000 {
      world.now = world.now + .milliseconds(Int64(random.next() % UInt64(slowness + 1)))
      if world.waiting.count < crowd, random.chance(0.5) { world.add(&random) }
      func one(of set: Set<UInt32>) -> UInt32? { set.isEmpty ? nil : random.pick(set.sorted()) }
      switch Int(random.next() % 8) {
      case 0: if let number = one(of: world.waiting) { world.leave(number) }
      case 1...2:
        if let number = one(of: world.named) { world.take(world.queue.credential(number, hash: "h", nil, nil)) }
      case 3:
        let number = one(of: world.named)
        if let number { world.since[number] = world.now }
        guard let number, let effects = world.queue.passOn(number, from: Self.address, at: world.now) else { break }
        world.named.remove(number)
        world.take(effects)
      case 4: if let number = one(of: world.tokens) { world.answer(number, .refused(.wrongToken)) }
      case 5: if let number = one(of: world.judged) { world.answer(number, .refused(.wrongPassword)) }
      case 6:
        if let number = one(of: world.served) { world.answer(number, random.chance(0.5) ? .prompt(text: "", echo: true) : .unavailable) }
      // Answers to conversations that ask nothing, or are over.
      default:
        let number = UInt32(random.next() % 3_000)
        if !world.named.contains(number) {
          let isUnknown = world.queue.passOn(number, from: Self.address, at: world.now) == nil
          #expect(isUnknown && world.queue.credential(number, hash: "h", nil, nil).isEmpty)
        }
      }
      let isWaiting = world.waiting.contains { !world.isChecked($0) && !world.queue.waitsForService($0) }
      #expect(!isWaiting || !world.hasPlace, "a check waits while there is a place")
    }
    #expect(crowd == 8 || world.refused > 0)
    #expect(slowness != 0 || world.late == 0)
    for number in world.waiting.sorted() { world.leave(number) }
    #expect(world.queue.isEmpty && world.queue.secrets.isEmpty)
  }

  @Test("a password goes from the gateway to the service with its place, and a question keeps that") func service() {
    var world = World()
    world.waiting = [1, 2]
    world.since = [1: world.now]
    world.take(world.queue.add(.password(GatewayName("alice"), [7]), of: 1, from: Self.address, at: world.now))
    #expect(world.named == [1])
    let effects = world.queue.passOn(1, from: Self.address, at: world.now) ?? []
    #expect(effects == [.ask(.password(number: 1, password: [7], source: Self.address))])
    world.named = []
    world.take(effects)
    world.answer(1, .prompt(text: "Token?", echo: false))
    #expect(world.served == [1] && !world.queue.isEmpty && world.queue.secrets.isEmpty)
    world.answer(1, .refused(.wrongPassword))
    #expect(world.queue.isEmpty)
  }

  @Test("a name that nobody can have is judged against no hash, in the same turn") func unknownName() throws {
    let alice = try #require(GatewayName("alice"))
    let now = Moment(nanoseconds: 0)
    var queue = CheckQueue(atWork: 1)
    #expect(queue.add(.password(nil, [7]), of: 1, from: Self.address, at: now) == [.judge(1, password: [7], hash: "", nil, .unknownName)])
    #expect(queue.add(.password(alice, [7]), of: 2, from: Self.address, at: now).isEmpty)
    queue.answered(1, .refused(.unknownName))
    #expect(queue.begin(at: now) == [.ask(.credential(number: 2, name: alice))])
  }

  @Test("of more checks than a slow machine can make, those that are made are for clients that still wait", arguments: [500, 2_500, 5_000])
  func slowMachine(hash milliseconds: Int) {
    let (hash, clients) = (Duration.milliseconds(milliseconds), Duration.seconds(20))
    var world = World()
    var (ends, latest): ([(at: Moment, number: UInt32)], Duration) = ([], .zero)
    for step in 0..<2_400 {
      world.now = Moment(nanoseconds: 1_000_000_000) + .milliseconds(50 * Int64(step))
      for end in ends where end.at <= world.now {
        latest = max(latest, world.now - (world.since[end.number] ?? world.now))
        world.answer(end.number, .refused(.unknownName))
      }
      if step % 2 == 0 {
        world.last += 1
        world.waiting.insert(world.last)
        world.since[world.last] = world.now
        world.take(world.queue.add(.password(nil, [1]), of: world.last, from: Self.address, at: world.now))
      }
      let known = Set(ends.map(\.number))
      ends = ends.filter { world.judged.contains($0.number) } + world.judged.subtracting(known).map { (world.now + hash, $0) }
    }
    #expect(latest <= clients && latest > .seconds(5), "\(latest)")
    #expect(world.waiting.allSatisfy { world.now - (world.since[$0] ?? world.now) <= CheckQueue.patience + hash + .seconds(1) })
  }
}
