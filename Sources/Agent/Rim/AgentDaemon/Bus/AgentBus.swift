package import ControlProtocol
internal import Glibc
package import LinuxIO
internal import NetworkTypes
package import SystemdIO

/// The objects of a moment.
package struct ReportOnBus {
  /// Those that all users see.
  package var ofAll: [String: BusObjects.Object]
  /// Those that owners of tunnels, and root, see in their place.
  package var ofUsers: [UInt32: [String: BusObjects.Object]]

  package init(_ ofAll: [String: BusObjects.Object] = [:], ofUsers: [UInt32: [String: BusObjects.Object]] = [:]) {
    self.ofAll = ofAll
    self.ofUsers = ofUsers
  }
}

/// The agent's objects on the system bus. Without a bus there are none, and nothing is computed for them.
package final class AgentBus {
  private let bus: SystemBus
  private let objects: BusObjects
  private let report: () -> ReportOnBus
  private let serve: (Request, Caller, _ mayInteract: Bool, @escaping (Reply) -> Void) -> AnyObject?
  private var turn: EventSource?
  /// Events since the last turn: their signals follow the properties.
  private var events: [(event: Event.Kind, users: Set<UInt32>?)] = []
  /// The largest number of events that wait for a turn.
  private static let mostEvents = 64
  private var budget = RequestBudget()
  /// The calls that wait for an answer.
  private var open: [Int: AnyObject] = [:]
  private var last = 0
  private let group = LocalGroup(Caller.groupName)
  /// The largest number of calls that wait for an answer.
  private static let mostOpen = 64
  /// Called with the reason if the bus refuses the agent's name.
  package var refused: (String) -> Void = { _ in }

  /// `report`: the objects, now. `serve`: decides on a request and carries it out, now or later; what it returns is kept until then.
  package init(
    _ bus: SystemBus, loop: EventLoop, report: @escaping () -> ReportOnBus,
    serve: @escaping (Request, Caller, _ mayInteract: Bool, @escaping (Reply) -> Void) -> AnyObject?
  ) throws(SystemError) {
    self.bus = bus
    self.report = report
    self.serve = serve
    objects = BusObjects(bus, root: AgentInterface.root, interfaces: [AgentInterface.agent, AgentInterface.tunnel])
    objects.admits = { [weak self] in self?.admits($0) ?? false }
    objects.called = { [weak self] in self?.take($0) }
    objects.identify = { sender, then in bus.credentials(of: sender) { then($0?.user) } }
    turn = try loop.eachTurn { [weak self] in self?.refresh() }
    turn?.setPriority(.request)
  }

  /// Exports the objects on a new connection.
  package func busOpened() {
    objects.export()
    refresh()
    bus.own(AgentInterface.service) { [weak self] error in self?.refused(error.description) }
    bus.isWell()
  }

  package func busClosed() {
    open = [:]
    events = []
    turn?.isEnabled = false
  }

  /// Announces what has changed, at the end of the turn. `users`: those who may know of it; `nil`: all.
  package func happened(_ event: Event.Kind, for users: Set<UInt32>? = nil) {
    // It changes no property, and is no signal.
    if case .nameRoute = event { return }
    guard bus.isConnected else { return }
    if events.count < Self.mostEvents { events.append((event, users)) }
    turn?.isEnabled = true
  }

  private func refresh() {
    turn?.isEnabled = false
    let events = events
    self.events = []
    guard bus.isConnected else { return }
    let report = report()
    objects.update(report.ofAll, for: report.ofUsers)
    for (event, users) in events {
      guard let signal = signalOnBus(event) else { continue }
      objects.emit(signal.path, signal.interface, signal.name, signal.arguments, to: users)
    }
  }

  // MARK: Calls

  /// Counts a call of this connection. The bus's unique names are `:1.` and a number.
  private func admits(_ sender: String) -> Bool {
    let number = sender.split(separator: ".").last.flatMap { UInt32($0) } ?? 0
    return budget.take(for: number, at: .now) == nil
  }

  private func take(_ call: BusCall) {
    guard open.count < Self.mostOpen else {
      return call.fail("org.freedesktop.DBus.Error.LimitsExceeded", "too many requests wait for an answer; try again later")
    }
    let request: Request
    do throws(RequestError) {
      request = try requestOnBus(call.member, call.values, tunnel: tunnel(at: call.path, for: call.sender))
    } catch {
      return call.fail(error.nameOnBus, error.message)
    }
    last += 1
    let number = last
    open[number] = call
    bus.credentials(of: call.sender) { [weak self] credentials in
      guard let self, open[number] != nil else { return }
      guard let credentials else {
        open[number] = nil
        return call.fail("\(AgentInterface.service).Error.NotAllowed", "the bus does not know the user of \(call.sender)")
      }
      let waiting = serve(request, Caller(credentials, call.sender, group), call.mayInteract) { [weak self] reply in
        self?.open[number] = nil
        switch reply {
        case .done: call.reply()
        case .refused(let error): call.fail(error.nameOnBus, error.message)
        }
      }
      if open[number] != nil { open[number] = waiting ?? call }
    }
  }

  private func tunnel(at path: String, for sender: String) -> String? {
    guard case .string(let name)? = objects.visible(to: sender)[path]?[AgentInterface.tunnel.name]?["Name"] else { return nil }
    return name
  }
}

extension Caller {
  /// The owner of a connection to the bus.
  fileprivate init(_ credentials: BusCredentials, _ sender: String, _ group: LocalGroup) {
    self.init(
      user: credentials.user, process: credentials.process, isOwner: credentials.user == 0 || credentials.user == geteuid(),
      isMember: group.identifier.map(credentials.groups.contains) ?? false, subject: .busName(sender))
  }
}
