internal import LinuxIO
internal import NetworkTypes
internal import RoamwardCore
internal import SystemdIO

/// The state of one service of the bus, kept current: read when the service starts, after its signals, and again after a failure.
///
/// One query returns the complete state, so the stored state was true at one moment. An unchanged answer is no event.
final class BusService<Words: Hashable & Sendable> {
  struct Question {
    var service: String
    var path: String
    var interface: String
    var method: String
    var arguments: [String] = []
    /// Match rules of signals that make the answer outdated, without the sender.
    var signals: [String]
  }

  private static var patience: Duration { .seconds(2) }
  /// Signals come in bursts: the query waits for the rest of one.
  private static var lull: Duration { .milliseconds(20) }

  private let bus: SystemBus
  private let loop: EventLoop
  private let question: Question
  private let read: ([BusValue]) -> Words?
  private let changed: (_ isFirst: Bool) -> Void
  private(set) var answer: Answer<Words> = .pending(reason: "it has not answered yet")
  /// Whether it has answered, or will not.
  var isSettled: Bool { if case .pending = answer { false } else { true } }

  /// The time of its last answer, in seconds since 1970.
  private(set) var confirmed: Int64?
  private var isAsked = false
  private var isStale = false
  private var timer: EventSource?
  private var backoff = Backoff(first: .seconds(1), longest: .seconds(60))

  init(
    _ question: Question, on bus: SystemBus, loop: EventLoop, read: @escaping ([BusValue]) -> Words?,
    changed: @escaping (_ isFirst: Bool) -> Void
  ) {
    self.question = question
    self.bus = bus
    self.loop = loop
    self.read = read
    self.changed = changed
  }

  /// Subscribes and queries once the bus is connected.
  func busOpened() {
    isAsked = false
    for signal in question.signals {
      bus.match("type='signal',sender='\(question.service)',\(signal)") { [weak self] _ in self?.refreshSoon() }
    }
    let owner =
      "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(question.service)'"
    bus.match(owner) { [weak self] values in
      if values.count > 2, values[2].text == "" { self?.take(.unavailable(reason: "it does not run")) } else { self?.refreshSoon() }
    }
    ask()
  }

  func busClosed(_ reason: String) {
    timer = nil
    isAsked = false
    take(.unavailable(reason: reason))
  }

  /// Queries again soon, because the stored state may be outdated.
  func refreshSoon() {
    if isAsked {
      isStale = true
    } else {
      timer = try? loop.at(.now + Self.lull) { [weak self] in self?.ask() }
    }
  }

  private func ask() {
    timer = nil
    isAsked = true
    isStale = false
    let question = question
    bus.call(
      question.service, question.path, question.interface, question.method, question.arguments.map { .string($0) }, within: Self.patience
    ) { [weak self] result in self?.answered(result) }
  }

  private func answered(_ result: Result<[BusValue], BusError>) {
    isAsked = false
    switch result {
    case .success(let values):
      bus.isWell()
      backoff.reset()
      confirmed = .wallClock
      take(read(values).map { .value($0) } ?? .unavailable(reason: "its answer cannot be read"))
    case .failure(let error) where error.isAbsence:
      bus.isWell()
      take(.unavailable(reason: "it does not run"))
    case .failure(let error):
      take(.unavailable(reason: error.description))
      timer = try? loop.at(.now + backoff.fail()) { [weak self] in self?.ask() }
    }
    if isStale { refreshSoon() }
  }

  private func take(_ new: Answer<Words>) {
    guard new != answer else { return }
    let isFirst = !isSettled
    answer = new
    changed(isFirst)
  }
}
