import ArgumentParser
import ControlClient
import ControlProtocol
import Glibc
import LinuxIO
import LinuxPlatform
import NetworkTypes
import StatusDisplay
import Terminal

/// Shows a status again after each event of the agent, and waits for an agent that stops.
///
/// The agent is asked after events, and when it has woken by itself meanwhile (`next-wake`), but never in a rhythm of the watch. On a
/// screen, ages grow each second without a question. While there is no agent, its socket is tried each second.
final class StatusWatch {
  /// Events that come together give one report.
  private static let burst = Duration.milliseconds(50)
  /// The shortest time between two questions without an event.
  private static let patience = Duration.seconds(5)
  private static let retry = Duration.seconds(1)

  private let loop: DescriptorLoop
  private let agent: AgentOptions
  private var connection: Connection
  private var sources: [DescriptorLoop.Source] = []
  private var question = Question()
  private var tick: DescriptorLoop.Source?
  private var screen: Screen?
  private var show: (StatusReport, Timestamp) throws -> Void = { _, _ in }
  private var showAbsence: () -> Void = {}
  private var failure: (any Error)?

  private enum Connection {
    case open(Clients)
    /// The agent has stopped, and its socket is tried again.
    case lost(since: Moment, attempt: DescriptorLoop.Source?)
  }

  private struct Clients {
    /// Watches the events.
    var reader: DescriptorLoop.Source?
    let events: ControlClient
    let asker: ControlClient
  }

  /// The last question, its answer, and the next question.
  private struct Question {
    var report: StatusReport?
    var askedAt = Moment.now
    var next: DescriptorLoop.Source?
  }

  init(_ agent: AgentOptions) throws {
    loop = try DescriptorLoop()
    self.agent = agent
    connection = .open(Clients(events: try agent.connect(), asker: try agent.connect()))
  }

  /// When the agent has stopped; `nil`: it is there.
  private var stoppedAt: Moment? { if case .lost(let since, _) = connection { since } else { nil } }

  /// Prints a text when it differs from the last one.
  func run(_ text: @escaping (StatusReport, Timestamp) throws -> String) throws {
    var shown = ""
    show = { report, time in
      let text = try text(report, time)
      if text != shown { write(text) }
      shown = text
    }
    try run()
  }

  /// Redraws lines on the terminal; in a pipe it prints them with an empty line after each status.
  func run(onScreen: Bool, _ lines: @escaping (StatusReport, Timestamp) throws -> [StyledLine]) throws {
    guard onScreen, OutputTerminal() != nil, !OutputTerminal.isDumb else {
      return try run { try lines($0, $1).rendered() + "\n" }
    }
    show = { [unowned self] report, time in
      let lines = try lines(report, time)
      let screen = screen ?? Screen()
      self.screen = screen
      screen.draw(lines)
    }
    showAbsence = { [unowned self] in screen?.draw(Self.absence(since: stoppedAt)) }
    sources.append(try loop.onSignal(SIGWINCH) { [unowned self] in draw() })
    sources.append(
      try loop.onSignal(SIGTSTP) { [unowned self] in
        screen = nil
        kill(getpid(), SIGSTOP)
        draw()
      })
    try nextTick()
    try run()
  }

  private func run() throws {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
      sources.append(try loop.onSignal(signal) { [unowned self] in loop.stop(code: 128 + signal) })
    }
    if case .open(var clients) = connection {
      do throws(ControlClient.Failure) { _ = try clients.events.ask(.monitor()) } catch { throw refused(error) }
      clients.reader = try loop.whenReadable(clients.events.descriptor) { [unowned self] in takeEvents() }
      connection = .open(clients)
    }
    ask()
    let code = failure == nil ? try loop.run() : 0
    screen = nil
    if let failure { throw failure }
    throw ExitCode(code)
  }

  private func takeEvents() {
    guard case .open(let clients) = connection else { return }
    do throws(ControlClient.Failure) {
      repeat {
        guard try clients.events.next() != nil else { return waitForAgent() }
      } while clients.events.hasLine
    } catch {
      return waitForAgent()
    }
    if question.next == nil { question.next = try? loop.at(.now + Self.burst) { [unowned self] in ask() } }
  }

  private func ask() {
    guard case .open(let clients) = connection else { return }
    (question.next, question.askedAt) = (nil, .now)
    do throws(ControlClient.Failure) {
      question.report = try clients.asker.status()
    } catch {
      if case .refused = error { return fail(ExitStatus.refused, "\(error)") }
      return waitForAgent()
    }
    draw()
  }

  private func draw() {
    if stoppedAt != nil { return showAbsence() }
    guard let report = question.report else { return }
    do { try show(report, max(report.time, report.time + (Moment.now - question.askedAt))) } catch {
      failure = error
      loop.stop()
    }
  }

  private func nextTick() throws(SystemError) {
    tick = try loop.at(.now + .seconds(1)) { [unowned self] in
      if stoppedAt == nil, let wake = question.report?.nextWake?.at, wake + .milliseconds(200) < .now,
        .now - question.askedAt > Self.patience
      {
        ask()
      } else {
        draw()
      }
      try? nextTick()
    }
  }

  /// Waits for an agent in the place of the one that has stopped.
  private func waitForAgent() {
    guard stoppedAt == nil else { return }
    connection = .lost(since: .now, attempt: nil)
    question.next = nil
    if screen == nil { writeError("roamward: the agent has stopped; waiting for it to return\n") }
    draw()
    tryLater()
  }

  private func tryLater() {
    guard case .lost(let since, _) = connection else { return }
    let attempt = try? loop.at(.now + Self.retry) { [unowned self] in if !hasReturned() { tryLater() } }
    connection = .lost(since: since, attempt: attempt)
  }

  private func hasReturned() -> Bool {
    guard let (events, asker) = try? (ControlClient(path: agent.socket), ControlClient(path: agent.socket)),
      (try? events.ask(.monitor(), within: Self.patience)) != nil,
      let reader = try? loop.whenReadable(events.descriptor, { [unowned self] in takeEvents() })
    else { return false }
    connection = .open(Clients(reader: reader, events: events, asker: asker))
    if screen == nil { writeError("roamward: the agent has returned\n") }
    ask()
    return true
  }

  /// The lines without an agent. Its last report is not shown: it may be wrong by now.
  private static func absence(since stop: Moment?) -> [StyledLine] {
    let passed = stop.map { age(.now - $0) } ?? ""
    let blocked = BlockedTraffic.current.map { [StyledLine("blocked: ", .bad, hang: 2).adding($0.text)] } ?? []
    return blocked + [
      StyledLine("the agent has stopped", .bad, hang: 2).adding(" \(passed) ago; waiting for it to return"),
      StyledLine("start it with `systemctl start roamwardd`; Ctrl-C ends the watch", .faint, hang: 2),
    ]
  }

  private func fail(_ code: ExitCode, _ text: String) {
    screen = nil
    writeError("roamward: \(text)\n")
    failure = code
    loop.stop()
  }

  private func refused(_ error: ControlClient.Failure) -> ExitCode {
    writeError("roamward: \(error)\n")
    return ExitStatus.refused
  }
}

/// The alternate screen of the terminal, without a cursor. The terminal is as before when the value ends.
private final class Screen {
  init() { writeRaw("\u{1b}[?1049h\u{1b}[?25l") }

  deinit { writeRaw("\u{1b}[?25h\u{1b}[?1049l") }

  /// Replaces what is shown. What does not fit is counted in the last row.
  func draw(_ lines: [StyledLine]) {
    guard let terminal = OutputTerminal() else { return }
    let text = lines.rendered(width: terminal.columns, isColored: terminal.isColored)
    var rows = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    if rows.count >= terminal.rows {
      let hidden = rows.count - terminal.rows + 1
      rows = rows.prefix(terminal.rows - 1) + ["… \(hidden) more lines"]
    }
    // Each row overwrites the one before it: nothing flickers.
    writeRaw("\u{1b}[H" + rows.joined(separator: "\u{1b}[K\r\n") + "\u{1b}[K\u{1b}[J")
  }
}
