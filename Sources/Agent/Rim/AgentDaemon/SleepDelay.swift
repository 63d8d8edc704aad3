internal import AgentCore
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// A delay lock of systemd-logind (`systemd-inhibit --list`): the machine sleeps when it is released, or after logind's own time limit.
///
/// It is taken while a policy has `disconnect-on-sleep`, and again after each sleep.
final class SleepDelay {
  private let bus: SystemBus
  private let failed: (String) -> Void
  private var isNeeded = false
  private var lock: FileDescriptor?
  /// Whether logind was asked for the lock and has not answered.
  private var isAsked = false

  /// `failed`: logind does not give the lock, with the reason.
  init(_ bus: SystemBus, failed: @escaping (String) -> Void) {
    self.bus = bus
    self.failed = failed
  }

  /// Takes the lock, or gives it back, if that is news.
  func need(_ isNeeded: Bool) {
    if isNeeded, !self.isNeeded, !bus.isConnected { failed(bus.obstacle ?? "the agent has no connection to the system bus") }
    self.isNeeded = isNeeded
    if isNeeded { take() } else { release() }
  }

  /// Handles a sleep, or its end: the lock is released when the agent's tunnels are down, and taken again for the next sleep.
  func follow(_ isAsleep: Bool, _ agent: Agent) {
    if isAsleep { return agent.fallsAsleep { [weak self] in self?.release() } }
    agent.woke()
    release()
    take()
  }

  /// Lets the machine sleep.
  private func release() { lock = nil }

  func busOpened() {
    isAsked = false
    // A logind that is started later has no lock of ours; one that is restarted keeps it.
    bus.match(Self.ownerSignal) { [weak self] values in if values.count > 2, values[2].text?.isEmpty == false { self?.take() } }
    take()
  }

  func busClosed() { isAsked = false }

  private func take() {
    guard isNeeded, lock == nil, !isAsked, bus.isConnected else { return }
    isAsked = true
    bus.call(
      Self.service, "/org/freedesktop/login1", "\(Self.service).Manager", "Inhibit",
      [.string("sleep"), .string("Roamward"), .string("Tunnels disconnect (disconnect-on-sleep)"), .string("delay")], within: .seconds(10)
    ) { [weak self] result in
      guard let self else { return }
      isAsked = false
      switch result {
      case .success(let values):
        lock = isNeeded ? values.first?.descriptor : nil
        if isNeeded, lock == nil { failed("it sent no descriptor") }
      case .failure(let error): failed(error.isAbsence ? "it does not run" : error.description)
      }
    }
  }

  private static let service = "org.freedesktop.login1"
  private static let ownerSignal =
    "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(service)'"
}
