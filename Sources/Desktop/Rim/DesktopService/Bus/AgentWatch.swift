internal import LinuxIO
internal import NetworkTypes
package import SystemdIO

/// The agent's state, kept current: read when the agent appears, and after its signals.
package final class AgentWatch {
  private static let (service, root) = ("net.roamward.Agent1", "/net/roamward/Agent1")
  private static let patience = Duration.seconds(10)
  /// A person may have to enter a password.
  private static let patienceOfActions = Duration.seconds(150)
  /// Signals come in bursts: the queries wait for the rest of one.
  private static let lull = Duration.milliseconds(50)

  /// Before an agent that did not answer is asked again.
  private static let pause = Duration.seconds(5)

  private let bus: SystemBus
  private let loop: EventLoop
  private var timer: EventSource?
  private var isAsked = false
  private var isStale = false
  package private(set) var view: AgentView?
  /// Called for each change, and for the first answer.
  package var changed: (AgentView?) -> Void = { _ in }

  package init(on loop: EventLoop, address: String? = nil) {
    self.loop = loop
    bus = SystemBus(on: loop, address: address)
    bus.opened = { [weak self] in self?.opened() }
    bus.closed = { [weak self] _ in
      self?.isAsked = false
      self?.take(nil)
    }
  }

  package func start() { bus.connect() }

  /// Calls the agent; calls back with the refusal, or `nil`.
  package func carryOut(_ action: AgentAction, then done: @escaping (String?) -> Void) {
    let call = action.call
    bus.call(
      Self.service, call.path, call.interface, call.method, call.arguments, within: Self.patienceOfActions, mayInteract: true
    ) { result in
      switch result {
      case .success: done(nil)
      case .failure(let error): done(error.isAbsence ? "the agent does not run" : error.description)
      }
    }
  }

  private func opened() {
    for rule in [
      "type='signal',sender='\(Self.service)',path_namespace='\(Self.root)'",
      "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.service)'",
    ] { bus.match(rule) { [weak self] _ in self?.refreshSoon() } }
    ask()
  }

  private func refreshSoon() {
    if isAsked { isStale = true } else { timer = try? loop.at(.now + Self.lull) { [weak self] in self?.ask() } }
  }

  private func ask() {
    timer = nil
    isAsked = true
    isStale = false
    var agent: BusValue?
    // Answered in order.
    bus.call(
      Self.service, Self.root, "org.freedesktop.DBus.Properties", "GetAll", [.string(Self.service)], within: Self.patience
    ) { if case .success(let values) = $0 { agent = values.first } }
    bus.call(Self.service, Self.root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", within: Self.patience) {
      [weak self] result in
      guard let self else { return }
      isAsked = false
      if case .success(let values) = result, let agent, let objects = values.first {
        bus.isWell()
        take(AgentView(agent: agent, objects: objects))
      } else {
        take(nil)
        // One that is there and slow sends no signal when it is quick again.
        if case .failure(let error) = result, !error.isAbsence { timer = try? loop.at(.now + Self.pause) { [weak self] in self?.ask() } }
      }
      if isStale { refreshSoon() }
    }
  }

  private var hasAnswered = false

  private func take(_ new: AgentView?) {
    guard new != view || !hasAnswered else { return }
    hasAnswered = true
    view = new
    changed(new)
  }
}
