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
    var last: UInt32 = 0

    /// Whether the queue has a place for another check by the gateway, and by the service.
    var hasPlace: Bool { named.count + tokens.count + judged.count < CheckQueueTests.atWork }

    mutating func take(_ effects: [CheckQueue.Effect]) {
      for effect in effects {
        switch effect {
        case .ask(.credential(let number, _)):
          #expect(waiting.contains(number) && named.insert(number).inserted)
        case .ask(.token(let number, _)):
          #expect(waiting.contains(number) && tokens.insert(number).inserted)
        case .judge(let number, _, _, _, _):
          #expect(waiting.contains(number) && judged.insert(number).inserted)
          named.remove(number)
        case .ask(.password(let number, _, _)), .ask(.decoy(let number, _)):
          #expect(waiting.contains(number) && served.insert(number).inserted)
        case .ask(let request): Issue.record("\(request)")
        case .busy(let number):
          refused += 1
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
      take(queue.begin())
    }

    mutating func leave(_ number: UInt32) {
      queue.end(number)
      forget(number)
      take(queue.begin())
    }

    mutating func add(_ random: inout SplitMix64) {
      last += 1
      waiting.insert(last)
      let address = IPAddress(v4: 0xcb00_7100 + UInt32(random.next() % 8))
      switch Int(random.next() % 8) {
      case 0: take(queue.addDecoy(of: last, from: address))
      case 1...2: take(queue.add(.token([1]), of: last, from: address))
      case 3: take(queue.add(.password(nil, [1]), of: last, from: address))
      default: take(queue.add(.password(GatewayName("alice"), [1]), of: last, from: address))
      }
    }
  }

  private static let address = IPAddress(v4: 0xcb00_7101)

  @Test("over random logins, no place is lost, none is given twice, and no secret outlives its use", arguments: 0..<100)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var world = World()
    let crowd = random.chance(0.5) ? 8 : 400
    for _ in 0..<2_000 {
      if world.waiting.count < crowd, random.chance(0.5) { world.add(&random) }
      func one(of set: Set<UInt32>) -> UInt32? { set.isEmpty ? nil : random.pick(set.sorted()) }
      switch Int(random.next() % 8) {
      case 0: if let number = one(of: world.waiting) { world.leave(number) }
      case 1...2:
        if let number = one(of: world.named) { world.take(world.queue.credential(number, hash: "h", nil, nil)) }
      case 3:
        guard let number = one(of: world.named), let effects = world.queue.passOn(number, from: Self.address) else { break }
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
          #expect(world.queue.credential(number, hash: "h", nil, nil).isEmpty && world.queue.passOn(number, from: Self.address) == nil)
        }
      }
      let isWaiting = world.waiting.contains { !world.isChecked($0) && !world.queue.waitsForService($0) }
      #expect(!isWaiting || !world.hasPlace, "a check waits while there is a place")
    }
    #expect(crowd == 8 || world.refused > 0)
    for number in world.waiting.sorted() { world.leave(number) }
    #expect(world.queue.isEmpty && world.queue.secrets.isEmpty)
  }

  @Test("a password goes from the gateway to the service with its place, and a question keeps that") func service() {
    var world = World()
    world.waiting = [1, 2]
    world.take(world.queue.add(.password(GatewayName("alice"), [7]), of: 1, from: Self.address))
    #expect(world.named == [1])
    let effects = world.queue.passOn(1, from: Self.address) ?? []
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
    var queue = CheckQueue(atWork: 1)
    #expect(queue.add(.password(nil, [7]), of: 1, from: Self.address) == [.judge(1, password: [7], hash: "", nil, .unknownName)])
    #expect(queue.add(.password(alice, [7]), of: 2, from: Self.address).isEmpty)
    queue.answered(1, .refused(.unknownName))
    #expect(queue.begin() == [.ask(.credential(number: 2, name: alice))])
  }
}
