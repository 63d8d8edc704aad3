internal import ConfinedProcess
internal import Glibc
import LinuxIO
internal import NetworkTypes
internal import ProbeProtocol
internal import RoamwardCore
package import SystemdIO

/// `roamward-probe`, the process that speaks to strangers for the agent: it is started when an errand comes, and ended when
/// there has been none for a while.
///
/// The helper is not trusted. It gets sockets that lead to the destinations of its errands, by their passage, and nowhere else. What it
/// says is read with bounds; a message that no errand of ours leads to ends it. One that dies, hangs or breaks these rules fails its
/// errands with the reason, and is started again with the next one, after a pause that grows (`RestartPause`).
package final class ProbeHelper {
  package static let program = "roamward-probe"

  /// An errand could not be done, through no fault of the network.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Times that tests shorten.
  package struct Patience: Sendable {
    /// A helper without an errand is ended after this.
    package var idle = Duration.seconds(30)
    /// From its start to its first message.
    package var greeting = Duration.seconds(10)
    /// From taking an errand back to its last word on it.
    package var parting = Duration.seconds(2)

    package init() {}
  }

  private struct Open {
    let errand: Errand
    let passage: Passage
    /// `nil`: taken back.
    var handler: ((Result<ErrandAnswer, Failure>) -> Void)?
    var isSent = false
    var wishes = 0
    /// Why a socket of its passage could not be made.
    var refusal: SystemError?
    /// The helper's last word on it is due.
    var partsBy: Moment?
  }

  private let loop: EventLoop
  private let path: String
  private let patience: Patience
  private var helper: ConfinedProcess?
  private var reading: EventSource?
  /// Its first message is due; `nil`: it has come.
  private var greetsBy: Moment?
  private var pause = RestartPause()
  private var lastTrouble = ""
  private var open: [UInt32: Open] = [:]
  /// Those that have not been sent, in order.
  private var waiting: [UInt32] = []
  private var count: UInt32 = 0
  private var idleSince = Moment.now
  private var alarm: EventSource?
  /// What is to be told from the loop.
  private var news: [UInt32: EventSource] = [:]

  /// `path`: looked up on PATH unless it holds a slash.
  package init(on loop: EventLoop, path: String = programBeside(ProbeHelper.program), patience: Patience = Patience()) {
    self.loop = loop
    self.path = path
    self.patience = patience
  }

  /// Why it cannot work here: it is not installed, or cannot confine itself (it is started to see that); `nil`: it can.
  package static var absence: String? {
    let path = programBeside(program)
    guard isOnPath(path) else { return "\(program) is neither beside roamwardd nor on its PATH" }
    var outcome: ChildProcess.Outcome?
    do throws(SystemError) {
      let loop = try EventLoop()
      let child = try ChildProcess([path, "--check"], timeout: .seconds(10), on: loop) {
        outcome = $0
        loop.stop()
      }
      _ = try loop.run()
      withExtendedLifetime(child) {}
    } catch {
      return error.description
    }
    guard let outcome, outcome.code != 0 else { return nil }
    return outcome.output.split(separator: "\n").first.map(String.init) ?? "\(program) ends with status \(outcome.code)"
  }

  /// The helper's process, while there is one.
  package var process: Int32? { helper?.process }

  /// Sends the helper on an errand. `then` is called once, later, never from within this call, or never where the run has gone before.
  func run(_ errand: Errand, by passage: Passage, then: @escaping (Result<ErrandAnswer, Failure>) -> Void) -> ErrandRun {
    count &+= 1
    let id = count
    open[id] = Open(errand: errand, passage: passage, handler: then)
    waiting.append(id)
    if helper == nil { start() }
    flush()
    return ErrandRun(id, self)
  }

  fileprivate func isWaiting(_ id: UInt32) -> Bool { open[id]?.isSent == false }

  fileprivate func cancel(_ id: UInt32) {
    news[id] = nil
    guard open[id]?.handler != nil else { return }
    open[id]?.handler = nil
    guard open[id]?.isSent == true else {
      waiting.removeAll { $0 == id }
      close(id)
      return
    }
    open[id]?.partsBy = .now + patience.parting
    send(.cancel(id))
    setAlarm()
  }

  private func close(_ id: UInt32) {
    open[id] = nil
    if open.isEmpty { idleSince = .now }
    flush()
  }
}

// Its life.
extension ProbeHelper {
  private func start() {
    if let end = pause.end, Moment.now < end { return failSoon("\(lastTrouble); it is started again in \(seconds(until: end)) s") }
    do throws(SystemError) {
      let helper = try ConfinedProcess(path, [Self.program, "--at-work"], on: loop)
      self.helper = helper
      reading = try loop.whenReadable(helper.channel.descriptor.number) { [weak self] in self?.receive() }
      greetsBy = .now + patience.greeting
      setAlarm()
    } catch {
      let cure = error.code == ENOENT ? "; cure: install \(Self.program) beside roamwardd, or in PATH" : ""
      failed("\(Self.program) cannot be started: \(error.reason)\(cure)")
      failSoon(lastTrouble)
    }
  }

  private func seconds(until moment: Moment) -> Int64 { max(1, (moment - .now).components.seconds + 1) }

  private func failed(_ trouble: String) {
    lastTrouble = trouble
    pause.fail(at: .now)
    stop()
  }

  @discardableResult
  private func stop() -> Int32? {
    reading = nil
    alarm = nil
    greetsBy = nil
    defer { helper = nil }
    return helper?.end()
  }

  /// The helper is of no more use: all its errands fail.
  private func fail(_ trouble: String) {
    failed(trouble)
    let failing = open.sorted { $0.key < $1.key }
    open = [:]
    waiting = []
    idleSince = .now
    for (_, errand) in failing { errand.handler?(.failure(Failure(description: trouble))) }
  }

  /// The same for errands that have only just come, whose senders expect no answer yet.
  private func failSoon(_ trouble: String) {
    let failing = waiting
    waiting = []
    for id in failing {
      guard let handler = open.removeValue(forKey: id)?.handler else { continue }
      news[id] = try? loop.at(.now) { [weak self] in
        self?.news[id] = nil
        handler(.failure(Failure(description: trouble)))
      }
    }
  }

  private func setAlarm() {
    guard helper != nil else { return alarm = nil }
    let idleEnd = open.isEmpty ? [idleSince + patience.idle] : []
    let next = ([greetsBy] + open.values.map(\.partsBy)).compactMap { $0 } + idleEnd
    alarm = next.min().flatMap { moment in try? loop.at(moment) { [weak self] in self?.ring() } }
  }

  private func ring() {
    let now = Moment.now
    if let greetsBy, greetsBy <= now { return fail("\(Self.program) does not come up within \(patience.greeting)") }
    if open.values.contains(where: { $0.partsBy.map { $0 <= now } ?? false }) { return fail("\(Self.program) hangs") }
    if open.isEmpty, idleSince + patience.idle <= now { stop() } else { setAlarm() }
  }
}

// What is said.
extension ProbeHelper {
  /// Sends what may be sent now.
  private func flush() {
    guard helper != nil, greetsBy == nil else { return }
    for id in waiting {
      guard let errand = open[id]?.errand, open.values.count(where: { $0.isSent && $0.errand.isLookUp == errand.isLookUp }) < errand.limit
      else { continue }
      waiting.removeAll { $0 == id }
      open[id]?.isSent = true
      send(.errand(id, errand))
      if helper == nil { return }
    }
    setAlarm()
  }

  private func send(_ message: AgentMessage, passing socket: FileDescriptor? = nil) {
    let bytes = message.bytes
    // A policy's URL and pins, longer than any message.
    if bytes.count > MessageChannel.limit, case .errand(let id, _) = message {
      waiting.append(id)
      let kept = waiting
      waiting = [id]
      failSoon("the request is longer than \(MessageChannel.limit) bytes")
      waiting = kept.filter { $0 != id }
      return
    }
    // A helper that has ended, or does not read: what it has to say of that is heard first.
    try? helper?.channel.send(bytes, passing: socket)
  }

  private func receive() {
    for _ in 0..<32 {
      guard let channel = helper?.channel else { return }
      do {
        switch try channel.receive() {
        case .nothing: return
        case .ended: return fail("\(Self.program) has ended\(manner(of: stop()))")
        case .message(let bytes, _): take(try HelperMessage(bytes))
        }
      } catch {
        return fail("\(Self.program) broke the protocol: \(error)")
      }
    }
  }

  private func manner(of code: Int32?) -> String {
    guard let code else { return "" }
    return code > 128 ? " by signal \(code - 128)" : " with status \(code)"
  }

  private func take(_ message: HelperMessage) {
    switch message {
    case .hello(let trouble?): fail("\(Self.program) cannot work: \(trouble)")
    case .hello(nil) where greetsBy != nil:
      greetsBy = nil
      flush()
      setAlarm()
    case .wish(let wish) where open[wish.errand]?.isSent == true: grant(wish)
    case .answer(let id, let answer) where open[id]?.isSent == true: take(answer, of: id)
    default: fail("\(Self.program) broke the protocol: an answer without a request")
    }
  }

  private func grant(_ wish: SocketWish) {
    guard let errand = open[wish.errand], errand.errand.leads(to: wish), errand.wishes < errand.errand.mostWishes else {
      return fail("\(Self.program) broke the protocol: a socket that its errand does not lead to")
    }
    open[wish.errand]?.wishes += 1
    do throws(Passage.Refusal) {
      send(.socket(wish: wish.number, trouble: nil), passing: try errand.passage.socket(wish.transport, to: wish.destination))
    } catch {
      switch error {
      case .unusable(let error):
        open[wish.errand]?.refusal = error
        send(.socket(wish: wish.number, trouble: error.description))
      case .unreachable(let error): send(.socket(wish: wish.number, trouble: error.description))
      }
    }
  }

  private func take(_ answer: ErrandAnswer, of id: UInt32) {
    guard let errand = open[id] else { return }
    guard errand.errand.expects(answer), answer != .cancelled || errand.handler == nil else {
      return fail("\(Self.program) broke the protocol: an answer to another errand")
    }
    close(id)
    setAlarm()
    guard let handler = errand.handler else { return }
    if let refusal = errand.refusal, !answer.isSuccess {
      handler(.failure(Failure(description: refusal.description)))
    } else {
      handler(.success(answer))
    }
  }
}

/// An errand under way: lasts as long as the value is kept, and the helper with it.
final class ErrandRun {
  private let id: UInt32
  private let helper: ProbeHelper

  fileprivate init(_ id: UInt32, _ helper: ProbeHelper) {
    self.id = id
    self.helper = helper
  }

  /// It has not been sent yet: the helper is being started, or is busy.
  var isWaiting: Bool { helper.isWaiting(id) }

  deinit { helper.cancel(id) }
}

extension Errand {
  fileprivate var isLookUp: Bool { if case .lookUp = self { true } else { false } }

  /// How many of its kind the helper does at once.
  fileprivate var limit: Int { isLookUp ? ProbeLimits.lookUps : ProbeLimits.transfers }

  private var destinations: [Destination] {
    switch self {
    case .lookUp(let order): order.servers
    case .transfer(let order):
      URLParts(order.url).map { parts in order.addresses.map { Destination($0, port: parts.port) } } ?? []
    }
  }

  fileprivate func leads(to wish: SocketWish) -> Bool { destinations.contains(wish.destination) && (isLookUp || wish.transport == .tcp) }

  fileprivate var mostWishes: Int { destinations.count + ProbeLimits.spareSockets }

  /// Whether this may be what the errand has found.
  fileprivate func expects(_ answer: ErrandAnswer) -> Bool {
    switch (self, answer) {
    case (_, .cancelled): true
    case (.lookUp, .addresses), (.lookUp, .noSuchName), (.lookUp, .noAddress), (.lookUp, .silence), (.lookUp, .failed): true
    case (.transfer(let order), .response(_, let body)): body.count <= order.bodyLimit
    case (.transfer, .impostor), (.transfer, .unanswered), (.transfer, .unsent): true
    default: false
    }
  }
}

extension ErrandAnswer {
  fileprivate var isSuccess: Bool {
    switch self {
    case .addresses, .response: true
    default: false
    }
  }
}
