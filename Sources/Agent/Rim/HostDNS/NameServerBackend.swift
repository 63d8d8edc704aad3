internal import ConfinedProcess
internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import NameProtocol
internal import NameServer
internal import NetworkTypes
internal import RoamwardCore
internal import SystemdIO
internal import WorkerLife

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

  /// A process that has worked for so long does not fail at its start.
  private static let settled = Duration.seconds(10)
  /// A process that has ended by itself is expected again for so long: until then, questions fail rather than leave.
  private static let returnTime = Duration.seconds(10)
  /// Attempts to take a port that is taken.
  private static let mostAttempts = 10

  private struct Change {
    let settings: NameServerSettings
    let done: (String?) -> Void
  }

  /// The settings, as far as the process is with them.
  private enum Work {
    case none
    /// The port is taken: by the process of a former agent, which is about to end.
    case awaitingPort(Change, attempts: Int, EventSource?)
    /// They wait for the process, which works with those before meanwhile. The source ends the wait.
    case changing(Change, from: NameServerSettings?, EventSource?)
    case applied(NameServerSettings)

    var change: Change? {
      switch self {
      case .none, .applied: nil
      case .awaitingPort(let change, _, _), .changing(let change, _, _): change
      }
    }

    /// The settings that the process works with.
    var applied: NameServerSettings? {
      switch self {
      case .none, .awaitingPort: nil
      case .changing(_, let settings, _): settings
      case .applied(let settings): settings
      }
    }
  }

  private let loop: EventLoop
  private lazy var worker = WorkerSupervisor(
    Self.program, WorkerLife.Limits(settled: Self.settled), on: loop, take: { [weak self] in try self?.take(NameReport($0)) },
    tell: { [weak self] in self?.hear($0) })
  private var work = Work.none
  private var sockets = QuestionSockets()
  private var captured = CapturedQuestions()
  /// Numbers the settings' places, for the process.
  private var places: [String: UInt64] = [:]
  private var lastAddress = NameServerSettings.address
  /// The moment at which it last ended by itself, having worked until then.
  private var leftAt: Moment?
  /// Finds the server that a captured question was sent to.
  var originalServer: (RedirectedFlow) -> (IPAddress, UInt16)? = { _ in nil }
  /// Called when it has ended by itself, or may be started again.
  var changed: () -> Void = {}
  /// Called when a program asks for a name whose tunnel is down.
  var lookedUp: (WatchedQuestion) -> Void = { _ in }
  /// Called when it has something to say about answers.
  var news: (NameNews) -> Void = { _ in }

  init(on loop: EventLoop) { self.loop = loop }

  /// Whether it can run here.
  var answer: Answer<Bool> {
    if worker.isRunning { return .value(true) }
    if let trouble = worker.obstacle { return .unavailable(reason: trouble) }
    return worker.isInstalled
      ? .value(true)
      : .unavailable(reason: "\(Self.program) is neither installed with roamwardd nor on its PATH")
  }

  /// Whether it has just ended by itself, and is about to be started again.
  var isReturning: Bool { !worker.isRunning && leftAt.map { .now < $0 + Self.returnTime } ?? false }

  /// The settings that it works with; `nil`: it does not run, or has not confirmed any.
  var settings: NameServerSettings? { work.applied }

  /// The reason, for people, why it has fewer sockets for questions than it should; `nil`: it has all.
  var shortage: String? { sockets.shortage }

  func set(_ settings: NameServerSettings, then done: @escaping (String?) -> Void) {
    if case .applied(let applied) = work, applied.treatsNames(as: settings) {
      send(progress: settings, since: applied)
      work = .applied(settings)
      return done(nil)
    }
    // Another address needs another process: sockets cannot be taken back.
    if let present = work.applied ?? work.change?.settings, present.listensAt != settings.listensAt { end() }
    begin(Change(settings: settings, done: done))
  }

  private func begin(_ change: Change) {
    let applied = work.applied
    let attempts = if case .awaitingPort(_, let attempts, _) = work { attempts } else { 0 }
    work = .changing(change, from: applied, nil)
    do throws(SystemError) {
      if !worker.isRunning { try start(at: change.settings.listensAt) }
      try captured.change(to: change.settings)
      let patience = worker.hasGreeted ? Self.patience : Self.patienceAtStart
      if worker.hasGreeted { try send(change.settings) }
      let alarm = try loop.at(.now + patience) { [weak self] in self?.worker.fail("\(Self.program) does not answer") }
      work = .changing(change, from: applied, alarm)
    } catch {
      guard error.code == EADDRINUSE, !worker.isRunning, attempts + 1 < Self.mostAttempts else {
        return fail(error, at: change.settings.listensAt)
      }
      let alarm = try? loop.at(.now + .milliseconds(100)) { [weak self] in self?.begin(change) }
      work = .awaitingPort(change, attempts: attempts + 1, alarm)
    }
  }

  func stop(then done: @escaping (String?) -> Void) {
    end()
    done(nil)
  }

  private func start(at address: IPAddress) throws(SystemError) {
    // First of all, what may fail.
    let listeners = try Self.listeners(at: address)
    try worker.start()
    for (i, listener) in listeners.enumerated() {
      send(.listener(number: UInt16(i), address: AddressText(address), isStream: i == 1, askers: .led), listener)
    }
  }

  private func send(_ order: NameOrder, _ passed: FileDescriptor? = nil) { worker.send(order.bytes, passing: passed) }

  /// UDP, then TCP.
  private static func listeners(at address: IPAddress) throws(SystemError) -> [FileDescriptor] {
    try [false, true].map { isStream throws(SystemError) in
      try NameServerSockets.listener(address, port: port, isStream: isStream)
    }
  }

  /// Sends new sockets for questions, and the settings.
  private func send(_ settings: NameServerSettings) throws(SystemError) {
    for (order, socket) in try sockets.renew(for: settings) { send(order, socket) }
    let place = places[settings.place] ?? UInt64(places.count)
    places[settings.place] = place
    let (rules, domains) = settings.rules(place: place)
    send(.rules(NameRules(rules)))
    for (disposition, names) in domains {
      for first in stride(from: 0, to: names.count, by: NameLimits.domains) {
        send(.domains(disposition: disposition, names: names[first..<min(names.count, first + NameLimits.domains)].map(\.text)))
      }
    }
    send(settings.rebindAllowed) { .rebindAllowed(names: $0) }
    send(settings.routed) { .routedDomains(names: $0) }
    send(.apply)
    for (order, socket) in captured.takeOrders() { send(order, socket) }
    send(progress: settings, since: nil)
  }

  /// Sends a list of domains in parts.
  private func send(_ domains: [DomainName], as order: ([String]) -> NameOrder) {
    for first in stride(from: 0, to: domains.count, by: NameLimits.domains) {
      send(order(domains[first..<min(domains.count, first + NameLimits.domains)].map(\.text)))
    }
  }

  /// Sends the states of tunnels that differ from those before; `nil`: all.
  private func send(progress settings: NameServerSettings, since before: NameServerSettings?) {
    for (trigger, watch) in settings.watches.enumerated() where before?.watches[trigger].progress != watch.progress {
      send(.state(trigger: trigger, state: TriggerState(watch.progress)))
    }
  }

  private func take(_ report: NameReport) {
    switch report {
    case .hello(let trouble):
      guard worker.greet(trouble), let settings = work.change?.settings else { return }
      do throws(SystemError) { try send(settings) } catch { fail(error, at: settings.listensAt) }
    case .applied(let fault):
      guard case .changing(let change, _, _) = work else { return }
      if let fault { return worker.fail("\(Self.program) refuses its settings: \(fault)") }
      work = .applied(change.settings)
      worker.prove()
      change.done(nil)
    case .stream(let number, let pool, let address, let port):
      connect(number, QuestionPool(pool), address.value, port)
    case .start(let trigger, let name, _, _, let address, let port, let isStream):
      // By the settings that it works with: it confirms others before it asks by them.
      guard let settings = work.applied, settings.watches.indices.contains(trigger) else { return }
      lookedUp(
        WatchedQuestion(
          tunnel: settings.watches[trigger].tunnel, name: name, address: address.value, port: port, isStream: isStream))
    case .origin(let number, let listener, let client, let port, _):
      let server = captured.origin(at: listener, from: client.value, port: port, by: originalServer)
      send(.origin(number: number, address: server.map { AddressText($0) }, port: Self.port))
    case .withheld(let count, let name, let address):
      news(.withheld(WithheldAnswers(count: UInt64(clamping: count), name: name, address: address.value)))
    case .answered(let number, let name, let addresses, let ttl):
      let answer = RoutedAnswer(name: name, addresses: addresses.map(\.value), lifetime: .seconds(Int64(ttl)))
      news(.answered(answer) { [weak self] in self?.send(.routed(number: number, isRouted: $0)) })
    case .shared(let address, let name, let other):
      news(.shared(SharedAddress(address: address.value, name: name, other: other)))
    case .counters: break
    }
  }

  /// Gives it a connection to a name server: to one of its settings, or one that a captured question was sent to.
  private func connect(_ number: UInt32, _ pool: QuestionPool, _ address: IPAddress, _ port: UInt16) {
    let settings = [work.applied, work.change?.settings].compactMap { $0 }
    let servers = settings.flatMap(\.allServers)
    // As the program that asked it would: the mark is for the network's own servers.
    let isAsked = !servers.contains(address) && captured.servers.contains(address)
    let isInside = settings.last?.asksNetworkInside ?? true
    let pool = pool == .outside && (isInside || isAsked) ? .inside : pool
    guard port == Self.port, isAsked || servers.contains(address) else {
      return worker.fail("\(Self.program) asks for a connection to \(address)")
    }
    do throws(SystemError) {
      send(.stream(number: number, trouble: nil), try NameServerSockets.connection(to: address, port: port, pool))
    } catch {
      send(.stream(number: number, trouble: error.description))
    }
  }

  private func fail(_ error: SystemError, at address: IPAddress) { worker.fail(Self.words(for: error, at: address)) }

  private func hear(_ news: WorkerSupervisor.News) {
    switch news {
    case .failed(let reason):
      let change = work.change
      if work.applied != nil { leftAt = .now }
      forget()
      if let change { change.done(reason) } else { changed() }
    case .mayStart(let trouble):
      // It counts as unavailable until the port is free, so that nothing is announced that fails again.
      if (try? Self.listeners(at: lastAddress)) == nil { worker.postpone(trouble) } else { changed() }
    }
  }

  private func end() {
    worker.end()
    forget()
  }

  private func forget() {
    if let address = (work.change?.settings ?? work.applied)?.listensAt { lastAddress = address }
    work = .none
    (sockets, captured) = (QuestionSockets(), CapturedQuestions())
  }

  /// Which program has taken the port, with the remedy; `nil`: none, or our own name server.
  static func takenPort(at address: IPAddress) -> String? {
    guard let owner = PortOwner(of: address, port: port), owner.program?.name != program else { return nil }
    return "\(owner) has taken port \(port), at \(owner.address); cure: \(owner.cure(port: port))"
  }

  /// The ports for redirected questions.
  private static let redirected = [NameCapture.port] + ProgramNames.ports

  private static func words(for error: SystemError, at address: IPAddress) -> String {
    switch error.code {
    case ENOENT: "\(program) cannot be started; cure: install the package roamward, or the program in PATH"
    case EADDRINUSE where redirected.contains { error.operation.hasSuffix("\($0)") }:
      "another program has taken a port from \(NameCapture.port) to \(ProgramNames.ports.upperBound), where roamward-names gets redirected"
        + " questions (\(error.operation)); cure: `ss -lnp 'sport >= :\(NameCapture.port) and sport <= :\(ProgramNames.ports.upperBound)'`"
        + " shows it; end it"
    case EADDRINUSE:
      takenPort(at: address) ?? "port \(port) of \(address) is taken; cure: `ss -lnp 'sport = :\(port)'` shows by which program"
    default: "\(program) cannot be started: \(error)"
    }
  }
}
