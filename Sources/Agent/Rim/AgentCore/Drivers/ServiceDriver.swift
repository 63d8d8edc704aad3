internal import KernelModel
internal import Lives
internal import RoamwardCore

/// Drives a tunnel that is a service of this machine: carries out the effects of its life.
final class ServiceDriver: TunnelDriver, CuttableDriver {
  private let service: ServiceProviderConfiguration
  private let tunnel: String
  private let policy: () -> TunnelPolicy
  private let platform: Platform
  private let outlets: DriverOutlets
  private var life = ServiceLife()
  private var watch: Cancellation?

  init(
    _ service: ServiceProviderConfiguration, tunnel: String, policy: @escaping () -> TunnelPolicy, platform: Platform,
    outlets: DriverOutlets
  ) {
    self.service = service
    self.tunnel = tunnel
    self.policy = policy
    self.platform = platform
    self.outlets = outlets
  }

  var engineName: String { service.key }

  var isTornDown: Bool { life.isTornDown }

  func device(whileAwaiting: Bool) -> DesiredLink.Device? { .foreign }

  func prepare(on underlay: LinkFacts?) { handle(.prepare) }

  func probePeer(on underlay: LinkFacts?) { handle(.probePeer) }

  func tearDown() { handle(.tearDown) }

  func cutShort() { handle(.cutShort) }

  /// It runs by itself; its note stays, with the command that stops it.
  func handOver() -> DriverHandOver? {
    guard case .running = life.phase else { return nil }
    handle(.handOver)
    return DriverHandOver()
  }

  /// To start what runs with its mark changes nothing, and tells that it runs. Another service or command ends before this one is started,
  /// which has its note then.
  func takeOver(_ left: LeftTunnel, on underlay: LinkFacts?) -> Bool {
    guard let command = left.command else { return false }
    let isSame = command == service.stopCommand
    handle(isSame ? left.isFitting ? .takeOver : .stopLeft : .replace, replaced: command)
    return isSame && left.isFitting
  }

  /// `replaced`: the command of another agent, which `replace` takes down.
  private func handle(_ event: ServiceLife.Event, replaced: CommandProviderConfiguration? = nil) {
    let effects = life.handle(event)
    if !life.isWatched { watch = nil }
    for effect in effects {
      switch effect {
      case .start(let attempt, let isTakenOver): start(attempt, isTakenOver: isTakenOver)
      case .stop(let attempt): stop(attempt)
      case .stopOther(let attempt):
        guard let replaced else { continue }
        platform.commands.run(.down, tunnel, replaced, Ownership.mark) { [weak self] _ in self?.ended(attempt) }
      case .report(let event): outlets.report(event)
      case .changed: outlets.changed()
      }
    }
  }

  private func start(_ attempt: LifeToken, isTakenOver: Bool) {
    platform.recoveryLog.recordCommand(tunnel, service.stopCommand)
    let policy = policy()
    let marking = ServicePlatform.Marking(
      tunnel: tunnel, mark: outlets.outerWay().mark, isRequired: policy.guarding != .off || policy.through != nil,
      isTakenOver: isTakenOver)
    let watch = platform.services.start(service, marking) { [weak self] news in
      guard let self else { return }
      switch news {
      // The pass that follows has its group in the firewall.
      case .marked: if life.isWatched(attempt) { outlets.changed() }
      case .running: handle(.isRunning(attempt))
      case .ended(let reason): handle(.ended(attempt, reason: reason))
      }
    }
    if life.isWatched(attempt) { self.watch = watch }
  }

  private func stop(_ attempt: LifeToken) {
    platform.services.stop(service, tunnel) { [weak self] error in
      guard let self else { return }
      // The note of what does not stop stays: a clean-up tries again.
      guard let error else { return ended(attempt) }
      outlets.publish(.log(level: "warning", origin: service.key, text: "\(service.service.name) is not stopped: \(error)"))
      handle(.stopped(attempt))
    }
  }

  /// It was stopped: nothing is owed any more, unless it has been started since.
  private func ended(_ attempt: LifeToken) {
    if life.isStopping(attempt) { platform.recoveryLog.forgetCommand(tunnel) }
    handle(.stopped(attempt))
  }
}
