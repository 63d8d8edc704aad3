internal import NetworkTypes

/// Captured questions that wait for the agent to say which server they were sent to, or answers that wait until it has routed their
/// addresses. They are bounded in number and in time.
struct AwaitedItems<Item: Sendable>: Sendable {
  struct Limits: Equatable, Sendable {
    /// The longest wait. The agent answers within some milliseconds, as long as it runs.
    var time: Duration
    var all = 512
  }

  let limits: Limits
  private var waiting: [UInt32: Item] = [:]
  /// The numbers in the order of their arrival, and so of their deadlines; also those that wait no more.
  private var order: [(number: UInt32, due: Moment)] = []
  private var last: UInt32 = 0

  init(limits: Limits) { self.limits = limits }

  var count: Int { waiting.count }
  /// The next moment at which `expire` may have an effect; `nil`: it has none.
  var nextDeadline: Moment? { waiting.isEmpty ? nil : order.first?.due }

  /// Takes an item, and returns its number; `nil`: too many wait.
  mutating func add(_ item: Item, at now: Moment) -> UInt32? {
    guard waiting.count < limits.all else { return nil }
    last &+= 1
    waiting[last] = item
    order.append((last, now + limits.time))
    return last
  }

  /// Gives up an item; `nil`: it waits no more.
  mutating func take(_ number: UInt32) -> Item? {
    defer { forgetTaken() }
    return waiting.removeValue(forKey: number)
  }

  /// Gives up those whose time has ended.
  mutating func expire(at now: Moment) -> [Item] {
    defer { forgetTaken() }
    return order.prefix { $0.due <= now }.compactMap { waiting.removeValue(forKey: $0.number) }
  }

  mutating func takeAll() -> [Item] {
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

/// Everything that waits for the agent, and what the agent is to know of answers.
struct AwaitedAgent: Sendable {
  /// After its time a question counts as one to this server.
  var origins = AwaitedItems<Question>(limits: .init(time: .milliseconds(500)))
  /// After its time an answer is replaced by a failure: no packet may leave before the route is there.
  var routes = AwaitedItems<HeldAnswer>(limits: .init(time: .seconds(2)))

  var shared = SharedAddresses()

  /// Addresses of one answer. All of them are routed, or none is given.
  static let mostAddresses = 64

  var count: Int { origins.count + routes.count }

  enum Verdict {
    /// Its clients get it now.
    case ready
    case waiting
    /// Too many wait, or it has too many addresses: its clients get a failure.
    case full
  }

  /// Takes an answer: one for a routed name waits, and the agent is to route its addresses. Addresses that a routed name shares with
  /// another one are reported.
  mutating func take(
    _ answer: HeldAnswer, by configuration: NameServerConfiguration, at now: Moment, _ out: inout Outbox
  ) -> Verdict {
    guard configuration.routed.count > 0, let question = answer.questions.first, !question.client.hasOwnRoute,
      let found = answer.addresses
    else { return .ready }
    let isRouted = configuration.isRouted(question)
    let name = question.nameText.lowercased()
    let verdict = isRouted ? route(answer, of: name, found, at: now, &out) : .ready
    // After the routes of which the agent is to know it.
    for shared in shared.take(Array(found.addresses.prefix(Self.mostAddresses)), of: name, isRouted: isRouted) {
      out.request(.shared(address: shared.address, name: shared.routed, other: shared.other))
    }
    return verdict
  }

  private mutating func route(
    _ answer: HeldAnswer, of name: String, _ found: (addresses: [IPAddress], ttl: UInt32), at now: Moment, _ out: inout Outbox
  ) -> Verdict {
    guard found.addresses.count <= Self.mostAddresses, let number = routes.add(answer, at: now) else { return .full }
    out.request(.route(number: number, name: name, addresses: found.addresses, ttl: found.ttl))
    return .waiting
  }

  var nextDeadline: Moment? { [origins.nextDeadline, routes.nextDeadline].compactMap { $0 }.min() }
}
