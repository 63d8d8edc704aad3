internal import KernelModel
internal import RoamwardCore

/// Drives a tunnel that is a service of this machine. A start waits for the end of a stop.
final class ServiceDriver: TunnelDriver {
  private let service: ServiceProviderConfiguration
  private let tunnel: String
  private let policy: () -> TunnelPolicy
  private let outerWay: () -> OuterWay?
  private let platform: Platform
  private let report: (TunnelMachine.Event) -> Void
  private let changed: () -> Void
  private let publish: (ProviderNews) -> Void
  private var watch: Cancellation?
  private var isRunning = false
  /// Whether it was started and has not been stopped since.
  private var isStopDue = false
  private var isStopping = false
  private var isStartDue = false
  /// Whether it was taken over, and has not been seen running since.
  private var isTakenOver = false
  private var life = 0

  init(
    _ service: ServiceProviderConfiguration, tunnel: String, policy: @escaping () -> TunnelPolicy, platform: Platform,
    outlets: DriverOutlets
  ) {
    self.service = service
    self.tunnel = tunnel
    self.policy = policy
    outerWay = outlets.outerWay
    self.platform = platform
    report = outlets.report
    changed = outlets.changed
    publish = outlets.publish
  }

  var engineName: String { service.key }

  var isReleased: Bool { !isStopDue && !isStopping }

  var isPolled: Bool { false }

  func device(whileAwaiting: Bool) -> DesiredLink.Device? { .foreign }

  func prepare(on underlay: LinkFacts?) {
    life += 1
    if isStopping { isStartDue = true } else { start() }
  }

  private func start() {
    let asked = life
    isStopDue = true
    platform.recoveryLog.noteCommand(tunnel, service.stopCommand)
    let policy = policy()
    let marking = ServicePlatform.Marking(
      tunnel: tunnel, mark: outerWay().mark, isRequired: policy.guarding != .off || policy.through != nil, isTakenOver: isTakenOver)
    watch = platform.services.start(service, marking) { [weak self] news in
      guard let self, life == asked else { return }
      take(news)
    }
  }

  private func take(_ news: ServicePlatform.News) {
    switch news {
    // The pass that follows has its group in the firewall.
    case .marked: break
    case .running:
      guard !isRunning else { return }
      isRunning = true
      report(isTakenOver ? .peerAnswered : .prepared)
      isTakenOver = false
    case .ended(let reason):
      isRunning = false
      report(.failed(TunnelFailure(.serviceFailed, reason)))
    }
    changed()
  }

  func probePeer(on underlay: LinkFacts?) { if isRunning { report(.peerAnswered) } }

  /// It runs by itself; its note stays, with the command that stops it.
  func handOver() -> DriverHandOver? {
    guard isRunning, isStopDue, !isStopping else { return nil }
    life += 1
    (watch, isRunning, isStopDue, isStartDue) = (nil, false, false, false)
    return DriverHandOver()
  }

  /// To start what runs with its mark changes nothing, and tells that it runs.
  func takeOver(_ left: LeftTunnel, on underlay: LinkFacts?) -> Bool {
    guard let command = left.command else { return false }
    isStopDue = true
    if command != service.stopCommand {
      stopOther(command)
      return false
    }
    guard left.isFitting else {
      release()
      return false
    }
    isTakenOver = true
    life += 1
    start()
    return true
  }

  /// Another service or command that the tunnel was: it ends before this one is started, which has its note then.
  private func stopOther(_ command: CommandProviderConfiguration) {
    isStopping = true
    platform.commands.run(.down, tunnel, command, Ownership.mark) { [weak self] _ in
      guard let self else { return }
      platform.recoveryLog.forgetCommand(tunnel)
      stopped()
    }
  }

  private func stopped() {
    (isStopping, isStopDue) = (false, false)
    if isStartDue {
      isStartDue = false
      start()
    }
    changed()
  }

  /// Its manager tells it.
  func askAgain() {}

  func isAnswered(by state: WireGuardState?) -> Bool { false }

  func release() {
    life += 1
    (watch, isRunning, isStartDue, isTakenOver) = (nil, false, false, false)
    guard isStopDue, !isStopping else { return }
    isStopping = true
    platform.services.stop(service, tunnel) { [weak self] error in
      guard let self else { return }
      if let error {
        // The note stays: a clean-up tries again.
        publish(.log(level: "warning", origin: service.key, text: "\(service.service.name) is not stopped: \(error)"))
      } else {
        platform.recoveryLog.forgetCommand(tunnel)
      }
      stopped()
    }
  }

  /// The note stays, for the next start or for a clean-up.
  func cutShort() { (isStopping, isStopDue, isStartDue) = (false, false, false) }
}
