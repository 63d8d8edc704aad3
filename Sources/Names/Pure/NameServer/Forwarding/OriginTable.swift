internal import NetworkTypes

/// Captured questions that wait for the agent to say which server they were sent to. They are bounded in number and in time.
struct OriginTable: Sendable {
  struct Limits: Equatable, Sendable {
    /// After that time the question counts as one to this server. The agent answers within a millisecond, as long as it runs.
    var time = Duration.milliseconds(500)
    var all = 512
  }

  let limits: Limits
  private var waiting: [UInt32: Question] = [:]
  /// The numbers in the order of their arrival, and so of their deadlines; also those that wait no more.
  private var order: [(number: UInt32, due: Moment)] = []
  private var last: UInt32 = 0

  init(limits: Limits = Limits()) { self.limits = limits }

  var count: Int { waiting.count }
  /// The next moment at which `expire` may have an effect; `nil`: it has none.
  var nextDeadline: Moment? { waiting.isEmpty ? nil : order.first?.due }

  /// Takes a question, and returns its number; `nil`: too many wait.
  mutating func add(_ question: Question, at now: Moment) -> UInt32? {
    guard waiting.count < limits.all else { return nil }
    last &+= 1
    waiting[last] = question
    order.append((last, now + limits.time))
    return last
  }

  /// Gives up a question; `nil`: it waits no more.
  mutating func take(_ number: UInt32) -> Question? {
    defer { forgetTaken() }
    return waiting.removeValue(forKey: number)
  }

  /// Gives up those whose time has ended.
  mutating func expire(at now: Moment) -> [Question] {
    defer { forgetTaken() }
    return order.prefix { $0.due <= now }.compactMap { waiting.removeValue(forKey: $0.number) }
  }

  mutating func takeAll() -> [Question] {
    defer { (waiting, order) = ([:], []) }
    return order.compactMap { waiting[$0.number] }
  }

  private mutating func forgetTaken() {
    let taken = order.prefix { waiting[$0.number] == nil }.count
    order.removeFirst(taken)
    // Behind one that waits for long there may be many.
    if order.count > 4 * limits.all { order.removeAll { waiting[$0.number] == nil } }
  }
}
