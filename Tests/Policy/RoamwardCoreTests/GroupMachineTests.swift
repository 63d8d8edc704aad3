import NetworkTypes
import RoamwardCore
import SeededRandom
import Testing

/// The choice of a group's member, in virtual time.
@Suite struct GroupMachineTests {
  /// Three members whose conditions a test sets.
  private struct Group {
    var machine: GroupMachine
    var conditions: [String: MemberCondition] = [:]
    var unusable: Set<String> = []
    var mayStartBeside = true
    var now = Moment(nanoseconds: 0)
    static let names = ["paris", "lyon", "tcp"]

    init(_ preference: GroupPreference = .order) {
      machine = GroupMachine(Self.names.map { GroupMachine.Member($0, .down) }, preference: preference, first: "paris")
    }

    mutating func look(after time: Duration = .zero) {
      now = now + time
      let (names, beside) = (Self.names, mayStartBeside)
      machine.follow(
        names.map { GroupMachine.Member($0, isUsable: !unusable.contains($0), conditions[$0] ?? .down) }, at: now
      ) { _, _ in beside }
      // As the agent does: whose turn it is not goes down.
      for name in names where name != machine.member && name != machine.trial { conditions[name] = .down }
    }

    mutating func set(_ name: String, _ condition: MemberCondition, after time: Duration = .zero) {
      now = now + time
      conditions[name] = condition
      look()
    }
  }

  @Test("the first member is in use; one that fails gives way at once, and comes back by a trial beside") func failover() {
    var group = Group()
    group.look()
    #expect(group.machine.phase == .using("paris") && group.machine.nextDeadline == nil)
    group.set("paris", .asking)
    group.set("paris", .failed(.backoff), after: .seconds(15))
    #expect(group.machine.phase == .using("lyon"))
    group.set("lyon", .asking)
    group.set("lyon", .connected, after: .seconds(1))
    #expect(group.machine.phase == .using("lyon") && group.machine.nextDeadline == group.now + .seconds(59))
    group.look(after: .seconds(58))
    #expect(group.machine.phase == .using("lyon"))
    group.look(after: .seconds(1))
    #expect(group.machine.trial == "paris" && group.machine.member == "lyon")
    group.set("paris", .asking)
    group.set("paris", .answered)
    #expect(group.machine.phase == .using("paris"))
  }

  @Test("a trial that fails leaves the member in use alone, and the next one comes after twice the pause, at most 15 minutes") func pauses()
  {
    var group = Group()
    group.set("paris", .failed(.backoff))
    group.set("lyon", .connected)
    var pauses: [Int64] = []
    for _ in 0..<7 {
      let failed = group.now
      while group.machine.trial == nil {
        group.look(after: (group.machine.nextDeadline ?? group.now + .seconds(1)) - group.now)
      }
      pauses.append((group.now - failed).components.seconds)
      group.set("paris", .asking)
      group.set("paris", .failed(.backoff))
      #expect(group.machine.phase == .using("lyon"))
    }
    #expect(pauses == [60, 120, 240, 480, 900, 900, 900])
  }

  @Test("a member in doubt stays until another one answers; one that recovers before stays in use") func doubt() {
    var group = Group()
    group.set("paris", .connected)
    group.set("paris", .doubted, after: .seconds(100))
    group.look(after: .seconds(7))
    #expect(group.machine.phase == .using("paris"))
    group.look(after: .seconds(1))
    #expect(group.machine.member == "paris" && group.machine.trial == "lyon")
    group.set("lyon", .asking)
    group.set("paris", .connected)
    #expect(group.machine.phase == .using("paris"))
    group.set("paris", .doubted, after: .seconds(1))
    group.look(after: .seconds(8))
    group.set("lyon", .asking)
    group.set("lyon", .answered)
    #expect(group.machine.phase == .using("lyon"))
    #expect(group.machine.triedAgain("paris") == group.now + .seconds(60), "silence is a failure")
  }

  @Test("a silent member that cannot run beside another one gives way to it") func exclusive() {
    var group = Group()
    group.mayStartBeside = false
    group.set("paris", .connected)
    group.set("paris", .doubted, after: .seconds(100))
    group.look(after: .seconds(8))
    #expect(group.machine.phase == .using("lyon"))
    group.set("lyon", .connected)
    group.look(after: .seconds(60))
    #expect(group.machine.phase == .using("paris"))
    group.set("paris", .failed(.backoff))
    #expect(group.machine.phase == .using("lyon"))
    group.set("lyon", .connected)
    group.look(after: .seconds(119))
    #expect(group.machine.phase == .using("lyon"), "the pause grows")
  }

  @Test("a member that needs a person is not tried again until the policies change") func persons() {
    var group = Group()
    group.set("paris", .failed(.onRequest))
    group.set("lyon", .connected)
    group.look(after: .seconds(86_400))
    #expect(group.machine.phase == .using("lyon") && group.machine.nextDeadline == nil)
    group.machine.forget(isAnew: false)
    group.look()
    #expect(group.machine.phase == .using("lyon"), "another network does not answer for a person")
    group.machine.forget(isAnew: true)
    group.look()
    #expect(group.machine.trial == "paris")
  }

  @Test("people and policies take members away: the next usable one is in use") func usable() {
    var group = Group()
    group.set("paris", .connected)
    group.unusable = ["paris", "lyon"]
    group.look()
    #expect(group.machine.phase == .using("tcp"))
    group.unusable = ["paris", "lyon", "tcp"]
    group.look()
    #expect(group.machine.phase == .using("tcp"))
    group.unusable = []
    group.look()
    #expect(group.machine.phase == .using("paris"))
  }

  @Test("while none works each is tried in turn, the one that waits longest first") func round() {
    var group = Group()
    var turns: [String] = []
    for _ in 0..<40 {
      turns.append(group.machine.member)
      group.set(group.machine.member, .asking)
      group.set(group.machine.member, .failed(.backoff), after: .seconds(15))
      if let next = group.machine.nextDeadline, group.conditions[group.machine.member] != .down { group.look(after: next - group.now) }
    }
    for name in Group.names { #expect(turns.count { $0 == name } >= 10, "\(turns)") }
  }

  @Test("nearest: each is measured once on a network, and another one is used if it takes less than half the time") func nearest() {
    var group = Group(.nearest)
    group.set("paris", .asking)
    group.set("paris", .connected, after: .milliseconds(200))
    group.look(after: .seconds(10))
    #expect(group.machine.trial == "lyon")
    group.set("lyon", .asking)
    group.set("lyon", .answered, after: .milliseconds(150))
    #expect(group.machine.phase == .trying(trial: "tcp", member: "paris", since: group.now), "not near enough")
    group.set("tcp", .asking)
    group.set("tcp", .answered, after: .milliseconds(30))
    #expect(group.machine.phase == .using("tcp"))
    group.set("tcp", .connected)
    group.look(after: .seconds(86_400))
    #expect(group.machine.phase == .using("tcp") && group.machine.nextDeadline == nil)
    group.set("tcp", .failed(.backoff))
    #expect(group.machine.phase == .using("lyon"), "the next nearest")
  }

  /// Members that come and go at random, driven as the agent drives them.
  @Test("1,000 lives: one that works is in use soon, changes are few, and each deadline changes something", arguments: 0..<10)
  func lives(_ block: Int) {
    for seed in UInt64(block * 100)..<UInt64(block * 100 + 100) {
      var random = SplitMix64(seed: seed)
      var group = Group(seed % 4 == 0 ? .nearest : .order)
      group.mayStartBeside = seed % 3 != 0
      var works: [String: Bool] = [:]
      var entered: [String: Moment] = [:]
      var (changes, without, worst): (Int, Duration, Duration) = (0, .zero, .zero)
      for name in Group.names { works[name] = random.unit() < 0.7 }
      let step = Duration.seconds(1)
      for second in 0..<1800 {
        if second % 300 == 299, let name = Group.names.randomElement(using: &random) { works[name]?.toggle() }
        let before = group.machine.member
        for name in [group.machine.member, group.machine.trial].compactMap({ $0 }) {
          let isUp = works[name] ?? false
          let condition = group.conditions[name]
          let waited = group.now - (entered[name] ?? group.now)
          defer { if group.conditions[name] != condition { entered[name] = group.now } }
          switch group.conditions[name] ?? .down {
          case .down, .starting: group.conditions[name] = .asking
          case .asking: group.conditions[name] = isUp ? .connected : waited >= .seconds(15) ? .failed(.backoff) : .asking
          case .answered: group.conditions[name] = .connected
          case .connected: if !isUp { group.conditions[name] = .doubted }
          case .doubted: group.conditions[name] = isUp ? .connected : waited >= .seconds(34) ? .failed(.backoff) : .doubted
          case .failed: if random.unit() < 0.2 { group.conditions[name] = .asking }
          }
        }
        group.look(after: step)
        if group.machine.member != before { changes += 1 }
        let isServed = group.conditions[group.machine.member] == .connected && works[group.machine.member] == true
        without = isServed || !works.values.contains(true) ? .zero : without + step
        worst = max(worst, without)
        if let next = group.machine.nextDeadline { #expect(group.now < next, "seed \(seed): a deadline that changes nothing") }
      }
      #expect(worst <= .seconds(90), "seed \(seed): \(worst)")
      #expect(changes <= 50, "seed \(seed): \(changes) changes in half an hour with six events")
    }
  }
}
