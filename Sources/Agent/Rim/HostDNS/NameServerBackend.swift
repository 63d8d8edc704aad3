internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import NameProtocol
internal import NameServer
internal import NetworkTypes
internal import RoamwardCore
internal import SystemdIO

/// Our own name server: `roamward-names`, a process without privileges, with the sockets and settings that the agent gives it.
///
/// It runs while a plan needs it. If it ends by itself, the next plan starts it again: at once after it has run for a while, otherwise
/// after a growing pause, in which it counts as unavailable.
final class NameServerBackend {
  static let program = "roamward-names"
  /// The limit for each answer of the process, and for the first one: a busy or slow machine takes its time for a start, and the list that
  /// would take its place keeps no names apart.
  private static let patience = Duration.seconds(5)
  private static let patienceAtStart = Duration.seconds(20)
  private static let port: UInt16 = 53

  private struct Change {
    let settings: NameServerSettings
    let done: (String?) -> Void
  }

  private let loop: EventLoop
  private let path: String
  private var process: NameServerProcess?
  private var history = NameServerHistory()
  private var sockets = QuestionSockets()
  private var captured = CapturedQuestions()
  /// Numbers the settings' places, for the process.
  private var places: [String: UInt64] = [:]
  /// The settings that wait for the process, and those that it works with.
  private var change: Change?
  private var applied: NameServerSettings?
  private var greeted = false
  /// Attempts to take a port that is taken: by the process of a former agent, which is about to end.
  private var attempts = 0
  private static let mostAttempts = 10
  private var lastAddress = NameServerSettings.address
  private var alarm: EventSource?
  private var retry: EventSource?
  /// Finds the server that a captured question was sent to.
  var originalServer: (RedirectedFlow) -> (IPAddress, UInt16)? = { _ in nil }
  /// Called when it has ended by itself, or may be started again.
  var changed: () -> Void = {}
  /// Called when a program asks for a name whose tunnel is down.
  var lookedUp: (WatchedQuestion) -> Void = { _ in }
  /// Called when it has withheld answers.
  var withheld: (WithheldAnswers) -> Void = { _ in }

  /// `path`: searched on PATH unless it contains a slash.
  init(on loop: EventLoop, path: String = programBeside(NameServerBackend.program)) {
    self.loop = loop
    self.path = path
  }

  /// Whether it can run here.
  var answer: Answer<Bool> {
    if process != nil { return .value(true) }
    if let trouble = history.obstacle(at: .now) { return .unavailable(reason: trouble) }
    return isOnPath(path)
      ? .value(true)
      : .unavailable(reason: "\(Self.program) is neither beside roamwardd nor on its PATH")
  }

  /// Whether it has just ended by itself, and is about to be started again.
  var isReturning: Bool { process == nil && history.isReturning(at: .now) }

  /// The settings that it works with; `nil`: it does not run, or has not confirmed any.
  var settings: NameServerSettings? { applied }

  var isRunning: Bool { process != nil }

  /// The reason, for people, why it has fewer sockets for questions than it should; `nil`: it has all.
  var shortage: String? { sockets.shortage }

  func set(_ settings: NameServerSettings, then done: @escaping (String?) -> Void) {
    if change == nil, let applied, applied.treatsNames(as: settings) {
      send(progress: settings, since: applied)
      self.applied = settings
      return done(nil)
    }
    // Another address needs another process: sockets cannot be taken back.
    if let present = applied ?? change?.settings, present.listensAt != settings.listensAt { end() }
    change = Change(settings: settings, done: done)
    do throws(SystemError) {
      if process == nil { try start(at: settings.listensAt) }
      if greeted { try sendChange() }
      alarm = try loop.at(.now + (greeted ? Self.patience : Self.patienceAtStart)) { [weak self] in
        self?.fail("\(Self.program) does not answer")
      }
    } catch {
      attempts += 1
      guard error.code == EADDRINUSE, process == nil, attempts < Self.mostAttempts else {
        return fail(Self.words(for: error, at: settings.listensAt))
      }
      alarm = try? loop.at(.now + .milliseconds(100)) { [weak self] in self?.set(settings, then: done) }
    }
  }

  func stop(then done: @escaping (String?) -> Void) {
    end()
    done(nil)
  }

  private func start(at address: IPAddress) throws(SystemError) {
    // First of all, what may fail.
    let listeners = try Self.listeners(at: address)
    let process = try NameServerProcess(path, on: loop) { [weak self] in
      self?.take($0)
    } failed: { [weak self] in
      self?.fail($0)
    }
    self.process = process
    history.begin(at: .now)
    for (i, listener) in listeners.enumerated() {
      process.send(.listener(number: UInt16(i), address: AddressText(address), isStream: i == 1, isCapturing: false), listener)
    }
  }

  /// UDP, then TCP.
  private static func listeners(at address: IPAddress) throws(SystemError) -> [FileDescriptor] {
    try [false, true].map { isStream throws(SystemError) in
      try NameServerSockets.listener(address, port: port, isStream: isStream)
    }
  }

  /// Sends new sockets for questions, and the settings.
  private func sendChange() throws(SystemError) {
    guard let change, let process else { return }
    for (order, socket) in try sockets.renew(for: change.settings) { process.send(order, socket) }
    let place = places[change.settings.place] ?? UInt64(places.count)
    places[change.settings.place] = place
    let (rules, domains) = change.settings.rules(place: place)
    process.send(.rules(NameRules(rules)))
    for (disposition, names) in domains {
      for first in stride(from: 0, to: names.count, by: NameLimits.domains) {
        process.send(.domains(disposition: disposition, names: names[first..<min(names.count, first + NameLimits.domains)].map(\.text)))
      }
    }
    let allowed = change.settings.rebindAllowed.map(\.text)
    for first in stride(from: 0, to: allowed.count, by: NameLimits.domains) {
      process.send(.rebindAllowed(names: Array(allowed[first..<min(allowed.count, first + NameLimits.domains)])))
    }
    for (order, socket) in try captured.change(to: change.settings.capture) { process.send(order, socket) }
    process.send(.apply)
    send(progress: change.settings, since: nil)
  }

  /// Sends the states of tunnels that differ from those before; `nil`: all.
  private func send(progress settings: NameServerSettings, since before: NameServerSettings?) {
    for (trigger, watch) in settings.watches.enumerated() where before?.watches[trigger].progress != watch.progress {
      process?.send(.state(trigger: trigger, state: TriggerState(watch.progress)))
    }
  }

  private func take(_ report: NameReport) {
    switch report {
    case .hello(let trouble?): fail("\(Self.program) cannot work: \(trouble)")
    case .hello(nil):
      greeted = true
      do throws(SystemError) { try sendChange() } catch { fail(Self.words(for: error, at: change?.settings.listensAt ?? lastAddress)) }
    case .applied(let fault):
      guard let change else { return }
      if let fault { return fail("\(Self.program) refuses its settings: \(fault)") }
      alarm = nil
      self.change = nil
      applied = change.settings
      change.done(nil)
    case .stream(let number, let pool, let address, let port):
      connect(number, QuestionPool(rawValue: pool) ?? .inside, address.value, port)
    case .start(let trigger, let name, _, _, let address, let port, let isStream):
      // By the settings that it works with: it confirms others before it asks by them.
      guard let settings = applied, settings.watches.indices.contains(trigger) else { return }
      lookedUp(
        WatchedQuestion(
          tunnel: settings.watches[trigger].tunnel, name: name, address: address.value, port: port, isStream: isStream))
    case .origin(let number, let listener, let client, let port, _):
      let server = captured.origin(at: listener, from: client.value, port: port, by: originalServer)
      process?.send(.origin(number: number, address: server.map { AddressText($0) }, port: Self.port))
    case .withheld(let count, let name, let address):
      withheld(WithheldAnswers(count: UInt64(clamping: count), name: name, address: address.value))
    case .counters: break
    }
  }

  /// Gives it a connection to a name server: to one of its settings, or one that a captured question was sent to.
  private func connect(_ number: UInt32, _ pool: QuestionPool, _ address: IPAddress, _ port: UInt16) {
    let servers = [applied, change?.settings].compactMap { $0 }.flatMap(\.allServers)
    // As the program that asked it would: the mark is for the network's own servers.
    let isAsked = !servers.contains(address) && captured.servers.contains(address)
    let isInside = (change?.settings ?? applied)?.asksNetworkInside ?? true
    let pool = isInside || isAsked ? .inside : pool
    guard port == Self.port, isAsked || servers.contains(address) else {
      return fail("\(Self.program) asks for a connection to \(address)")
    }
    do throws(SystemError) {
      process?.send(.stream(number: number, trouble: nil), try NameServerSockets.connection(to: address, port: port, pool))
    } catch {
      process?.send(.stream(number: number, trouble: error.description))
    }
  }

  private func fail(_ reason: String) {
    let failed = change
    let hasToWait = history.fail(reason, isRunning: process != nil, hasWorked: applied != nil, at: .now)
    end()
    if hasToWait { waitForRestart() }
    if let failed { failed.done(reason) } else { changed() }
  }

  private func waitForRestart() {
    retry = history.mayStart.flatMap { end in try? loop.at(end) { [weak self] in self?.lookAgain() } }
  }

  /// It counts as unavailable until the port is free, so that nothing is announced that fails again.
  private func lookAgain() {
    guard (try? Self.listeners(at: lastAddress)) == nil else { return changed() }
    history.wait(at: .now)
    waitForRestart()
  }

  private func end() {
    alarm = nil
    if let address = (change?.settings ?? applied)?.listensAt { lastAddress = address }
    (change, applied, greeted, attempts) = (nil, nil, false, 0)
    (sockets, captured) = (QuestionSockets(), CapturedQuestions())
    process?.end()
    process = nil
  }

  /// Which program has taken the port, with the remedy; `nil`: none, or our own name server.
  static func takenPort(at address: IPAddress) -> String? {
    guard let owner = PortOwner(of: address, port: port), owner.program?.name != program else { return nil }
    return "\(owner) has taken port \(port), at \(owner.address); cure: \(owner.cure(port: port))"
  }

  private static func words(for error: SystemError, at address: IPAddress) -> String {
    switch error.code {
    case ENOENT: "\(program) cannot be started; cure: install it beside roamwardd, or in PATH"
    case EADDRINUSE where error.operation.contains("\(NameCapture.port)"):
      "another program listens at port \(NameCapture.port), which `names: capture` needs; cure: `ss -lnp 'sport = \(NameCapture.port)'`"
        + " shows it; end it"
    case EADDRINUSE:
      takenPort(at: address) ?? "port \(port) of \(address) is taken; cure: `ss -lnp 'sport = :\(port)'` shows by which program"
    default: "\(program) cannot be started: \(error)"
    }
  }
}
