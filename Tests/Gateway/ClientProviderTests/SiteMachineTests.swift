import ClientProvider
import NetworkTypes
import SeededRandom
import Testing

@Suite("Which of several gateways is used") struct SiteMachineTests {
  private static let names = ["paris", "lyon", "nice"]
  private static func key(_ index: Int) -> [UInt8] { [UInt8](repeating: UInt8(index + 1), count: 32) }
  private static let candidates = names.enumerated().map { SiteMachine.Candidate(key: key($0.offset), name: $0.element) }
  private static let start = Moment(nanoseconds: 1_000_000_000_000)

  /// A client of the machine in virtual time: it does as the machine says, and every change succeeds.
  private struct Life {
    var machine = SiteMachine(.nearest)
    var now = SiteMachineTests.start
    var present = 0
    var moves: [(at: Moment, to: Int)] = []
    var rounds = 0

    init(_ preference: SiteMachine.Preference = .nearest) {
      machine = SiteMachine(preference)
      machine.update(SiteMachineTests.candidates, present: SiteMachineTests.key(0), at: now)
      machine.connected(at: now)
    }

    /// `trip`: the round trip to a gateway at a time; `nil`: it does not answer.
    /// `dead`: the gateway that answers no data either.
    mutating func live(for span: Duration, dead: Int? = nil, _ trip: (Int, Moment) -> Duration?) {
      let end = now + span
      while now < end {
        let isDead = present == dead
        if isDead { machine.suspect(at: now) }
        guard let due = machine.deadline, due < end else { return now = end }
        now = max(now, due)
        let keys = machine.look(at: now)
        if keys.isEmpty { continue }
        rounds += 1
        var trips: [[UInt8]: Duration] = [:]
        for index in SiteMachineTests.candidates.indices where keys.contains(SiteMachineTests.key(index)) {
          trips[SiteMachineTests.key(index)] = trip(index, now)
        }
        now = now + SiteMachine.patience
        if let next = machine.finish(trips, at: now) ?? (isDead ? machine.died(at: now) : nil) { move(to: next) }
      }
    }

    private mutating func move(to next: [UInt8]) {
      present = SiteMachineTests.candidates.firstIndex { $0.key == next } ?? -1
      moves.append((now, present))
      machine.update(SiteMachineTests.candidates, present: next, at: now)
      machine.connected(at: now)
    }
  }

  @Test("it changes to a clearly nearer one after a span, and stays there") func nearer() {
    var life = Life()
    let trips: [Duration] = [.milliseconds(40), .milliseconds(12), .milliseconds(30)]
    life.live(for: .seconds(3600)) { index, _ in trips[index] }
    #expect(life.moves.map(\.to) == [1])
    let took = life.moves[0].at - Self.start
    #expect(took >= SiteMachine.span && took < .seconds(40), "\(took)")
    #expect(life.machine.text == "gateway lyon, 12 ms; paris, 40 ms; nice, 30 ms")
    // Rounds become rare: a few in an hour.
    #expect(life.rounds < 25, "\(life.rounds)")
  }

  @Test("a small gain is none: neither 4 ms nor a fifth") func smallGain() {
    for (own, other) in [(10, 6), (100, 80)] {
      var life = Life()
      life.live(for: .seconds(7200)) { index, _ in .milliseconds(index == 0 ? own : other) }
      #expect(life.moves.isEmpty)
    }
  }

  @Test("over random lives, noise moves no client, whatever round trips cross by it", arguments: 0..<20) func noise(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var life = Life()
    let base = Int.random(in: 5...80, using: &random)
    let noise = max(1, base / 4)
    life.live(for: .seconds(86_400)) { _, _ in .milliseconds(base + Int.random(in: 0...noise, using: &random)) }
    #expect(life.moves.isEmpty, "\(life.moves)")
  }

  @Test("over random lives with spikes and losses, changes are rare, and more and more so", arguments: 0..<20) func spikes(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var life = Life()
    // Two are equal, one of them loses a probe now and then, and each is three times as far for minutes now and then.
    var far: [Int: Moment] = [:]
    life.live(for: .seconds(86_400)) { index, now in
      if Int.random(in: 0..<20, using: &random) == 0 { far[index] = now + .seconds(Int.random(in: 5...120, using: &random)) }
      if Int.random(in: 0..<10, using: &random) == 0, index == 1 { return nil }
      let isFar = far[index].map { now < $0 } ?? false
      return .milliseconds((index == 2 ? 60 : 20) * (isFar ? 3 : 1) + Int.random(in: 0...3, using: &random))
    }
    #expect(life.moves.count <= 40, "\(life.moves.count) changes in a day")
    for (first, second) in zip(life.moves, life.moves.dropFirst()) { #expect(second.at - first.at >= SiteMachine.span) }
  }

  @Test("a dead one is left for one that answers; it comes back for a clear gain, and later each time that it dies") func death() {
    var life = Life()
    func trip(_ index: Int) -> Duration { .milliseconds([10, 30, 50][index]) }
    var returns: [Duration] = []
    for _ in 0..<4 {
      #expect(life.present == 0)
      life.live(for: .seconds(20), dead: 0) { index, _ in index == 0 ? nil : trip(index) }
      #expect(life.present == 1 && life.machine.isMissing(Self.key(0)) && life.machine.text.contains("paris does not answer"))
      let left = life.now
      life.live(for: .seconds(1500)) { index, _ in trip(index) }
      returns.append((life.moves.last?.at ?? left) - left)
    }
    #expect(life.moves.map(\.to) == [1, 0, 1, 0, 1, 0, 1, 0])
    #expect(returns.allSatisfy { $0 >= SiteMachine.span })
    // It has carried for long in between, so only the last fault counts each time.
    #expect(returns.allSatisfy { $0 < .seconds(120) }, "\(returns)")
    // Deaths one after the other.
    life = Life()
    returns = []
    for _ in 0..<5 {
      life.live(for: .seconds(20), dead: 0) { index, _ in index == 0 ? nil : trip(index) }
      let left = life.now
      while life.present != 0, life.now - left < .seconds(3600) { life.live(for: .seconds(5)) { index, _ in trip(index) } }
      returns.append(life.now - left)
    }
    #expect(zip(returns, returns.dropFirst()).allSatisfy { $0 < $1 }, "\(returns)")
  }

  @Test("nothing is left for a gateway of which nothing is known; where all are silent, each is tried once") func silence() {
    var life = Life()
    life.live(for: .seconds(60), dead: 0) { _, _ in nil }
    #expect(life.moves.isEmpty && life.machine.died(at: life.now) == nil)
    var machine = life.machine
    #expect(machine.silent(at: life.now) == Self.key(1))
    machine.update(Self.candidates, present: Self.key(1), at: life.now)
    #expect(machine.silent(at: life.now) == Self.key(2))
    machine.update(Self.candidates, present: Self.key(2), at: life.now)
    #expect(machine.silent(at: life.now) == nil)
    machine.searchAgain()
    #expect(machine.silent(at: life.now) != nil)
  }

  @Test("one that the policy names is kept, whatever it costs") func named() {
    var life = Life(.named("lyon"))
    #expect(life.machine.wanted == Self.key(1) && life.machine.deadline == nil)
    life.machine.update(Self.candidates, present: Self.key(1), at: life.now)
    #expect(life.machine.wanted == nil && life.machine.silent(at: life.now) == nil && life.machine.died(at: life.now) == nil)
    #expect(life.machine.text == "gateway lyon; as the policy wants")
    let other = Life(.named("rome"))
    #expect(other.machine.wanted == nil)
    #expect(other.machine.text == "gateway paris; the policy wants rome, which is not in the gateways' list")
  }

  @Test("a single gateway is no choice") func single() {
    var machine = SiteMachine(.nearest)
    machine.update([], present: Self.key(0), at: Self.start)
    machine.connected(at: Self.start)
    #expect(machine.deadline == nil && machine.text.isEmpty && machine.silent(at: Self.start) == nil && !machine.hasOthers)
  }
}
