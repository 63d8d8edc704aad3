package import NetworkTypes

/// The state of a group's member, as far as the choice among members depends on it.
package enum MemberCondition: Hashable, Sendable {
  /// It is down, or going down.
  case down
  /// It is starting, or waits for a network.
  case starting
  /// Its peer was asked, and has not answered yet.
  case asking
  /// Its peer has answered; its settings are being applied.
  case answered
  /// It is up.
  case connected
  /// It is up, and its peer has not answered since something made that doubtful.
  case doubted
  /// The attempt has failed, or the connected tunnel.
  case failed(TunnelFailure.Retry)

  fileprivate var isFailed: Bool { if case .failed = self { true } else { false } }

  fileprivate var isUp: Bool { [.answered, .connected].contains(self) }
}

extension MemberCondition {
  /// The state of a member's machine, as its group sees it. Without a network no member is to blame.
  package init(of machine: TunnelMachine) {
    self =
      switch machine.state {
      case .disconnected, .disconnecting, .withdrawing, .readying, .ready: .down
      case .preparing, .arming, .armed, .reasserting(nil): .starting
      case .awaitingPeer, .called: .asking
      case .applying: .answered
      case .connected: .connected
      case .reasserting: .doubted
      case .backingOff: machine.failure.map { $0.code == .noNetwork ? .starting : .failed($0.retry) } ?? .starting
      }
  }
}

/// Chooses the member of one group that is in use, and the one that is tried beside it. No clock: it takes the members' conditions.
///
/// A member that fails gives way at once, and one whose peer is silent as soon as another member answers, or at once if only one of the two
/// can run. The better member is tried again after a pause that doubles with each of its failures; meanwhile the member in use stays up.
package struct GroupMachine: Equatable, Sendable {
  package enum Phase: Hashable, Sendable {
    /// This member is in use.
    case using(String)
    /// `trial` is started while `member` stays in use, until one of them answers or fails.
    case trying(trial: String, member: String, since: Moment)
  }

  /// The time limits. docs/policy-reference.md states them.
  package enum Limit {
    /// The time for which a member may be in doubt before another one is tried.
    package static let doubt = Duration.seconds(8)
    /// The time for which a member has to be connected before a better one is tried.
    package static let settled = Duration.seconds(10)
    /// The time after which a trial that has not even started ends.
    package static let trial = Duration.seconds(20)
    /// The time for which a member has to be connected before its earlier failures no longer count.
    package static let proven = Duration.seconds(600)
    /// The pauses before a better member is tried again while another one works.
    package static let rest = Backoff(first: .seconds(60), longest: .seconds(900))
    /// The pauses before a member is tried again while none works.
    package static let round = Backoff(first: .seconds(5), longest: .seconds(60))
    /// A member is nearer than another one if its answer took less than half of the time, and this much less.
    package static let nearer = Duration.milliseconds(20)
  }

  /// A member as input.
  package struct Member: Hashable, Sendable {
    package var name: String
    /// Whether policies and people let it start.
    package var isUsable: Bool
    package var condition: MemberCondition

    package init(_ name: String, isUsable: Bool = true, _ condition: MemberCondition) {
      self.name = name
      self.isUsable = isUsable
      self.condition = condition
    }
  }

  package private(set) var phase: Phase
  /// When the choice may change though no member does.
  package private(set) var nextDeadline: Moment?
  private var memories: [String: Memory] = [:]
  private let preference: GroupPreference

  /// Begins with the member that runs, or with the first usable one. `members` are not empty.
  package init(_ members: [Member], preference: GroupPreference, first: String) {
    let usable = members.filter(\.isUsable)
    let running = usable.first { $0.condition.isUp || $0.condition == .doubted } ?? usable.first { $0.condition != .down }
    phase = .using((running ?? usable.first)?.name ?? first)
    self.preference = preference
  }

  package var member: String {
    switch phase {
    case .using(let member), .trying(_, let member, _): member
    }
  }

  package var trial: String? { if case .trying(let trial, _, _) = phase { trial } else { nil } }

  /// Forgets failures and measured answers: they were of another network, or of other policies (`isAnew`). On another network a member
  /// that needs a person still does.
  package mutating func forget(isAnew: Bool) {
    for name in memories.keys { memories[name]?.forget(isAnew: isAnew) }
  }

  /// When the member is tried again; `nil`: it has not failed, or a person has to act first.
  package func triedAgain(_ member: String) -> Moment? { if case .until(let end) = memories[member]?.rest { end } else { nil } }

  /// Takes the members' conditions, in the group's order. `mayStartBeside`: whether the first can start while the second is up.
  package mutating func follow(_ members: [Member], at now: Moment, mayStartBeside: @escaping (String, String) -> Bool = { _, _ in true }) {
    for member in members { memories[member.name, default: Memory(at: now)].take(member.condition, at: now) }
    // A trial that ends leaves a member that may have failed too.
    for _ in 0..<3 {
      let turn = Turn(members, memories, preference, at: now, mayStartBeside)
      guard let (next, silent) = turn.next(after: phase), next != phase else { break }
      if let silent { memories[silent]?.fail(.backoff, at: now) }
      phase = next
    }
    nextDeadline = Turn(members, memories, preference, at: now, mayStartBeside).deadline(of: phase)
  }
}

/// The past of one member.
private struct Memory: Equatable {
  /// When the member may be tried again while another one works.
  enum Rest: Equatable {
    /// At any time.
    case none
    case until(Moment)
    /// When a person or another policy asks for it.
    case onRequest
  }

  private(set) var condition = MemberCondition.down
  /// When it entered the condition.
  private(set) var since: Moment
  private(set) var failures = 0
  private(set) var failedAt: Moment?
  private(set) var rest = Rest.none
  private(set) var connectedSince: Moment?
  /// The time that its peer took to answer on this network.
  private(set) var answer: Duration?

  init(at now: Moment) { since = now }

  mutating func take(_ new: MemberCondition, at now: Moment) {
    if new == condition { return }
    switch condition {
    case .asking, .starting: if new.isUp { answer = answer ?? now - since }
    // All of its start was in one look.
    case .down: if new.isUp { answer = answer ?? .zero }
    case .answered, .connected, .doubted, .failed: break
    }
    if case .failed(let retry) = new, !condition.isFailed { fail(retry, at: now) }
    switch new {
    case .connected:
      connectedSince = connectedSince ?? now
      if rest == .onRequest { rest = .none }
    case .doubted: break
    case .down, .starting, .asking, .answered, .failed: connectedSince = nil
    }
    (condition, since) = (new, now)
  }

  mutating func fail(_ retry: TunnelFailure.Retry, at now: Moment) {
    if let connectedSince, GroupMachine.Limit.proven <= now - connectedSince { failures = 0 }
    failures += 1
    failedAt = now
    let pause = GroupMachine.Limit.rest.pause(after: failures)
    switch retry {
    case .backoff: rest = .until(now + pause)
    case .notBefore(let time): rest = .until(now + max(pause, time))
    case .onRequest: rest = .onRequest
    }
  }

  mutating func forget(isAnew: Bool) {
    (failures, failedAt, answer) = (0, nil, nil)
    if isAnew || rest != .onRequest { rest = .none }
  }

  func isRested(at now: Moment) -> Bool {
    switch rest {
    case .none: true
    case .until(let end): end <= now
    case .onRequest: false
    }
  }

  /// When it may be tried again while no member works; `nil`: a person has to act first.
  var nextRound: Moment? {
    if rest == .onRequest { return nil }
    return failedAt.map { $0 + GroupMachine.Limit.round.pause(after: failures) } ?? since
  }
}

/// One look at the members.
private struct Turn {
  private let usable: [String: MemberCondition]
  /// The usable members, the preferred one first.
  private let order: [String]
  private let memories: [String: Memory]
  private let preference: GroupPreference
  private let now: Moment
  private let mayStartBeside: (String, String) -> Bool

  init(
    _ members: [GroupMachine.Member], _ memories: [String: Memory], _ preference: GroupPreference, at now: Moment,
    _ mayStartBeside: @escaping (String, String) -> Bool
  ) {
    let usable = members.filter(\.isUsable)
    self.usable = Dictionary(usable.map { ($0.name, $0.condition) }) { first, _ in first }
    let names = usable.map(\.name)
    order =
      switch preference {
      case .order: names
      case .nearest:
        names.enumerated().sorted { a, b in
          let (one, other) = (memories[a.element]?.answer, memories[b.element]?.answer)
          return (one ?? .seconds(1 << 30), a.offset) < (other ?? .seconds(1 << 30), b.offset)
        }.map(\.element)
      }
    self.memories = memories
    self.preference = preference
    self.now = now
    self.mayStartBeside = mayStartBeside
  }

  /// The next phase, and a member that gives way because of its silence; `nil`: no member is usable.
  func next(after phase: GroupMachine.Phase) -> (phase: GroupMachine.Phase, silent: String?)? {
    switch phase {
    case .using(let member):
      guard let condition = usable[member] else { return first.map { (.using($0), nil) } }
      return next(after: member, condition)
    case .trying(let trial, let member, let since):
      guard let trying = usable[trial], let using = usable[member] else {
        return [member, trial].first { usable[$0] != nil }.map { (.using($0), nil) } ?? first.map { (.using($0), nil) }
      }
      if trying.isUp {
        return using == .connected && !isBetter(trial, than: member) ? (.using(member), nil) : use(trial, after: member, using)
      }
      if trying.isFailed { return (.using(member), nil) }
      if using.isFailed { return (.using(trial), nil) }
      if using == .connected, !mayBeBetter(trial, than: member) { return (.using(member), nil) }
      if trying == .down, since + GroupMachine.Limit.trial <= now { return (.using(member), trial) }
      return (phase, nil)
    }
  }

  func deadline(of phase: GroupMachine.Phase) -> Moment? {
    switch phase {
    case .using(let member):
      guard let condition = usable[member], let memory = memories[member] else { return nil }
      switch condition {
      case .connected:
        let rests = order.filter { isWorthTrial($0, while: member) }.compactMap { end(ofRest: $0) }
        return rests.min().map { max($0, memory.since + GroupMachine.Limit.settled) }
      case .doubted:
        let rests = order.filter { $0 != member }.compactMap { end(ofRest: $0) }
        return rests.min().map { max($0, memory.since + GroupMachine.Limit.doubt) }
      case .failed: return order.filter { $0 != member }.compactMap { memories[$0]?.nextRound }.min()
      case .down, .starting, .asking, .answered: return nil
      }
    case .trying(let trial, _, let since): return usable[trial] == .down ? since + GroupMachine.Limit.trial : nil
    }
  }

  private func next(after member: String, _ condition: MemberCondition) -> (phase: GroupMachine.Phase, silent: String?) {
    let stay = (phase: GroupMachine.Phase.using(member), silent: String?.none)
    guard let since = memories[member]?.since else { return stay }
    switch condition {
    case .starting, .asking, .answered: return stay
    case .down: return isRested(member) ? (.using(order.first(where: isRested) ?? member), nil) : first.map { (.using($0), nil) } ?? stay
    case .failed: return successor(of: member).map { (.using($0), nil) } ?? stay
    case .doubted:
      guard since + GroupMachine.Limit.doubt <= now, let other = order.first(where: { $0 != member && isRested($0) }) else { return stay }
      return mayStartBeside(other, member) ? (.trying(trial: other, member: member, since: now), nil) : (.using(other), member)
    case .connected:
      guard since + GroupMachine.Limit.settled <= now, let other = order.first(where: { isWorthTrial($0, while: member) && isRested($0) })
      else { return stay }
      return mayStartBeside(other, member) ? (.trying(trial: other, member: member, since: now), nil) : (.using(other), nil)
    }
  }

  private func use(_ trial: String, after member: String, _ condition: MemberCondition) -> (phase: GroupMachine.Phase, silent: String?) {
    (.using(trial), condition == .doubted ? member : nil)
  }

  /// The first usable member that does not rest, or the one that was not tried for the longest time.
  private var first: String? {
    order.first(where: isRested) ?? order.min { (memories[$0]?.failedAt ?? now, 0) < (memories[$1]?.failedAt ?? now, 0) }
  }

  /// The member after one that has failed: one that does not rest, or the one whose turn it is in the round of those that have failed.
  private func successor(of member: String) -> String? {
    let others = order.filter { $0 != member }
    if let rested = others.first(where: isRested) { return rested }
    return others.filter { memories[$0]?.nextRound.map { $0 <= now } ?? false }
      .min { (memories[$0]?.failedAt ?? now) < (memories[$1]?.failedAt ?? now) }
  }

  private func isRested(_ member: String) -> Bool { memories[member]?.isRested(at: now) ?? true }

  private func end(ofRest member: String) -> Moment? {
    switch memories[member]?.rest {
    case nil, Memory.Rest.none?: now
    case .until(let end)?: end
    case .onRequest?: nil
    }
  }

  /// Whether it is tried while the other one is connected. Taking that one down for a measurement alone is worth nothing.
  private func isWorthTrial(_ member: String, while other: String) -> Bool {
    mayBeBetter(member, than: other) && (preference == .order || mayStartBeside(member, other))
  }

  /// Whether a trial may show that it is better.
  private func mayBeBetter(_ member: String, than other: String) -> Bool {
    if member == other { return false }
    return preference == .nearest && memories[member]?.answer == nil || isBetter(member, than: other)
  }

  private func isBetter(_ member: String, than other: String) -> Bool {
    switch preference {
    case .order: return (order.firstIndex(of: member) ?? order.count) < (order.firstIndex(of: other) ?? order.count)
    case .nearest:
      guard let time = memories[member]?.answer, let others = memories[other]?.answer else { return false }
      return time * 2 < others && GroupMachine.Limit.nearer <= others - time
    }
  }
}
