import ArgumentParser
import ControlClient
import ControlProtocol
import Glibc
import LinuxIO
import NetworkTypes
import StatusDisplay

/// Shows a status again after each event of the agent.
///
/// The agent is asked after events, and when it has woken by itself meanwhile (`next-wake`), but never in a rhythm of the watch. On a
/// screen, ages grow each second without a question.
final class StatusWatch {
  /// Events that come together give one report.
  private static let burst = Duration.milliseconds(50)
  /// The shortest time between two questions without an event.
  private static let patience = Duration.seconds(5)

  private let loop: DescriptorLoop
  private let events: ControlClient
  private let asker: ControlClient
  private var sources: [DescriptorLoop.Source] = []
  private var question: DescriptorLoop.Source?
  private var tick: DescriptorLoop.Source?
  private var report: StatusReport?
  private var askedAt = Moment.now
  private var shown = ""
  private var screen: Screen?
  private var show: (StatusReport, Timestamp) throws -> Void = { _, _ in }
  private var failure: (any Error)?

  init(_ agent: AgentOptions) throws {
    loop = try DescriptorLoop()
    events = try agent.connect()
    asker = try agent.connect()
  }

  /// Prints a text when it differs from the last one.
  func run(_ text: @escaping (StatusReport, Timestamp) throws -> String) throws {
    show = { [unowned self] report, time in
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
    do throws(ControlClient.Failure) { _ = try events.ask(.monitor()) } catch { throw refused(error) }
    sources.append(try loop.whenReadable(events.descriptor) { [unowned self] in takeEvents() })
    ask()
    let code = failure == nil ? try loop.run() : 0
    screen = nil
    if let failure { throw failure }
    throw ExitCode(code)
  }

  private func takeEvents() {
    do throws(ControlClient.Failure) {
      repeat {
        guard try events.next() != nil else {
          return fail(ExitStatus.noAgent, "the agent has stopped; start it with `systemctl start roamwardd`")
        }
      } while events.hasLine
    } catch {
      return fail(ExitStatus.refused, "\(error)")
    }
    if question == nil { question = try? loop.at(.now + Self.burst) { [unowned self] in ask() } }
  }

  private func ask() {
    question = nil
    askedAt = .now
    do throws(ControlClient.Failure) { report = try asker.status() } catch { return fail(ExitStatus.refused, "\(error)") }
    draw()
  }

  private func draw() {
    guard let report else { return }
    do { try show(report, max(report.time, report.time + (Moment.now - askedAt))) } catch {
      failure = error
      loop.stop()
    }
  }

  private func nextTick() throws(SystemError) {
    tick = try loop.at(.now + .seconds(1)) { [unowned self] in
      if let wake = report?.nextWake?.at, wake + .milliseconds(200) < .now, .now - askedAt > Self.patience { ask() } else { draw() }
      try? nextTick()
    }
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
