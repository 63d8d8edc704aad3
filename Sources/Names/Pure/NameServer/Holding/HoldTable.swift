internal import NetworkTypes

/// Questions that wait for their tunnels. They are bounded in number and in time; the time counts from the first question for the same
/// name, type and class.
struct HoldTable: Sendable {
  struct Limits: Equatable, Sendable {
    /// The longest time from the first question. glibc, musl, Go and systemd-resolved wait for 5 s.
    var time = Duration.milliseconds(4500)
    /// After that time, the same questions fail at once for this time: they are the retries of the resolver that just got the failure.
    var rest = Duration.seconds(2)
    var all = 512
    /// Of one address.
    var each = 32
    /// Of this host, whose programs share an address: the other half is for containers and guests.
    var local = 256
  }

  enum Verdict: Equatable {
    case held
    /// It held too long already: the question fails at once.
    case spent
  }

  /// The questions for one name, type and class, of one trigger.
  private struct Round {
    var first: Moment
    var questions: [UInt64] = []
    /// Set at the end of the time.
    var spentUntil: Moment?
  }

  private struct Key: Hashable {
    let trigger: Int
    /// QNAME in lower case, QTYPE and QCLASS.
    let wire: [UInt8]
  }

  private struct Held {
    let question: Question
    let key: Key
    let quota: Quota
  }

  private enum Quota: Hashable {
    case local
    case address(IPAddress)
  }

  let limits: Limits
  private var rounds: [Key: Round] = [:]
  /// By a number that grows, so that the lowest is the oldest.
  private var held: [UInt64: Held] = [:]
  private var oldest: UInt64 = 0
  private var next: UInt64 = 0
  private var used: [Quota: Int] = [:]

  init(limits: Limits = Limits()) { self.limits = limits }

  var count: Int { held.count }

  /// The next moment at which `expire` may have an effect; `nil`: it has none.
  private(set) var nextDeadline: Moment?

  /// Takes a question. Also returns those that make room for it, the oldest first: of the same client if it has too many.
  mutating func hold(_ question: Question, for trigger: Int, at now: Moment) -> (Verdict, evicted: [Question]) {
    let key = Key(trigger: trigger, wire: question.wire.map(lowerCase))
    if let round = rounds[key], round.spentUntil.map({ now < $0 }) ?? (round.first + limits.time <= now) { return (.spent, []) }
    if rounds[key]?.spentUntil != nil { rounds[key] = nil }
    // A question that was asked elsewhere first has waited for some time, and may be older than the round.
    guard now < question.arrival + limits.time else { return (.spent, []) }
    let first = min(rounds[key]?.first ?? now, question.arrival)
    let quota: Quota = question.client.isLocal ? .local : .address(question.client.address)
    var evicted: [Question] = []
    if used[quota, default: 0] >= (quota == .local ? limits.local : limits.each), let old = oldestQuestion(of: quota) {
      if let question = remove(old) { evicted.append(question) }
    }
    if held.count >= limits.all, let old = oldestQuestion(), let question = remove(old) { evicted.append(question) }
    held[next] = Held(question: question, key: key, quota: quota)
    rounds[key, default: Round(first: first)].questions.append(next)
    rounds[key]?.first = first
    used[quota, default: 0] += 1
    next += 1
    nextDeadline = min(nextDeadline ?? first + limits.time, first + limits.time)
    return (.held, evicted)
  }

  /// Gives up all questions of a trigger, in the order of their arrival, and forgets which have been spent.
  mutating func take(_ trigger: Int) -> [Question] {
    let numbers = rounds.filter { $0.key.trigger == trigger }.values.flatMap(\.questions).sorted()
    let questions = numbers.compactMap { remove($0) }
    rounds = rounds.filter { $0.key.trigger != trigger }
    if rounds.isEmpty { nextDeadline = nil }
    return questions
  }

  mutating func releaseAll() -> [Question] {
    let questions = held.sorted { $0.key < $1.key }.map(\.value.question)
    self = HoldTable(limits: limits)
    return questions
  }

  /// Gives up the questions of which the time has ended, with their triggers.
  mutating func expire(at now: Moment) -> [(question: Question, trigger: Int)] {
    var ended: [(number: UInt64, trigger: Int)] = []
    for (key, round) in rounds {
      if let end = round.spentUntil {
        if end <= now { rounds[key] = nil }
      } else if round.first + limits.time <= now {
        rounds[key]?.spentUntil = now + limits.rest
        ended += round.questions.map { ($0, key.trigger) }
      }
    }
    nextDeadline = rounds.values.lazy.map { [limits] round in round.spentUntil ?? round.first + limits.time }.min()
    return ended.sorted { $0.number < $1.number }.compactMap { one in remove(one.number).map { ($0, one.trigger) } }
  }

  private mutating func oldestQuestion(of quota: Quota? = nil) -> UInt64? {
    while oldest < next, held[oldest] == nil { oldest += 1 }
    guard let quota else { return oldest < next ? oldest : nil }
    return held.filter { $0.value.quota == quota }.keys.min()
  }

  private mutating func remove(_ number: UInt64) -> Question? {
    guard let removed = held.removeValue(forKey: number) else { return nil }
    let count = used[removed.quota, default: 0] - 1
    used[removed.quota] = count > 0 ? count : nil
    if var round = rounds[removed.key] {
      round.questions.removeAll { $0 == number }
      rounds[removed.key] = round.questions.isEmpty && round.spentUntil == nil ? nil : round
    }
    return removed.question
  }
}
