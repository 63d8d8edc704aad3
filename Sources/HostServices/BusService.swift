internal import LinuxIO
internal import NetworkTypes
internal import RoamwardCore
internal import SystemdIO

/// What one service of the bus says, kept fresh: asked when it comes, when one of its signals tells of a change, and again after it failed.
///
/// One question brings the whole answer, so what is kept was true at one moment. An answer that says the same again is no news.
final class BusService<Words: Hashable & Sendable> {
  struct Question {
    var service: String
    var path: String
    var interface: String
    var method: String
    var arguments: [String] = []
    /// Rules of signals that make the answer old, without the sender.
    var signals: [String]
  }

  private static var patience: Duration { .seconds(2) }
  /// Signals come in bursts: the question waits for the rest of one.
  private static var lull: Duration { .milliseconds(20) }

  private let bus: SystemBus
  private let loop: EventLoop
  private let question: Question
  private let read: ([BusValue]) -> Words?
  private let changed: (_ isFirst: Bool) -> Void
  private(set) var answer: Answer<Words> = .pending(reason: "it has not answered yet")
  /// It has answered, or will not.
  var isSettled: Bool { if case .pending = answer { false } else { true } }

  /// When it last said what it says, in seconds since 1970.
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

  /// The bus is there: subscribes, and asks.
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

  /// What it said may not be so any more.
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
