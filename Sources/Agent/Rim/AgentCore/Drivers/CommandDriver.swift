internal import KernelModel
internal import RoamwardCore

/// Drives a tunnel whose programs bring it up, take it down and check it. One program runs at a time. If the tunnel is no longer wanted, a
/// running `up` is ended, and `down` waits for its end.
final class CommandDriver: TunnelDriver {
  private let command: CommandProviderConfiguration
  private let tunnel: String
  private let platform: Platform
  private let report: (TunnelMachine.Event) -> Void
  private let changed: () -> Void
  private let outerWay: () -> OuterWay?
  private var queue: [(action: CommandAction, of: CommandProviderConfiguration, done: (CommandOutcome) -> Void)] = []
  private var running: CommandAction?
  /// Whether `up` has begun and `down` has not ended since.
  private var isDownOwed = false
  private var isStatusDue = false
  /// Whether its programs wait for the next agent.
  private var isLeft = false
  private var life = 0

  init(
    _ command: CommandProviderConfiguration, tunnel: String, platform: Platform, outlets: DriverOutlets
  ) {
    self.command = command
    self.tunnel = tunnel
    self.platform = platform
    report = outlets.report
    changed = outlets.changed
    outerWay = outlets.outerWay
  }

  let engineName = "command"

  var isReleased: Bool { !isDownOwed && running == nil && queue.isEmpty }

  func device(whileAwaiting: Bool) -> DesiredLink.Device? { .foreign }

  func prepare(on underlay: LinkFacts?) {
    life += 1
    let asked = life
    run(.up) { [weak self] outcome in
      guard let self, life == asked else { return }
      report(outcome.event(onSuccess: .prepared))
    }
  }

  func probePeer(on underlay: LinkFacts?) {
    guard !command.status.isEmpty else { return report(.peerAnswered) }
    let asked = life
    run(.status) { [weak self] outcome in
      guard let self, life == asked else { return }
      // "Not connected yet" is no failure: the status is queried again, until the machine's deadline.
      isStatusDue = outcome != .succeeded
      if outcome == .succeeded { report(.peerAnswered) }
    }
  }

  func askAgain() {
    guard isStatusDue else { return }
    isStatusDue = false
    probePeer(on: nil)
  }

  /// Its programs run by themselves; its note stays, with the `down` that is due.
  func handOver() -> DriverHandOver? {
    guard isDownOwed, running == nil || running == .status, queue.isEmpty else { return nil }
    if running == .status { platform.commands.end(tunnel) }
    life += 1
    isStatusDue = false
    isDownOwed = false
    isLeft = true
    return DriverHandOver()
  }

  /// A command that was changed meanwhile, or whose link is gone, ends by its own `down`, before the new one starts.
  func takeOver(_ left: LeftTunnel, on underlay: LinkFacts?) -> Bool {
    guard let started = left.command else { return false }
    life += 1
    isDownOwed = true
    if left.isFitting, left.hasLink || command.interface == nil, started == command { return true }
    run(.down, of: started) { [weak self] _ in self?.downEnded() }
    return false
  }

  func isAnswered(by state: WireGuardState?) -> Bool { false }

  func release() {
    life += 1
    isStatusDue = false
    queue.removeAll { $0.action != .down }
    if let running, running != .down { platform.commands.end(tunnel) }
    guard isDownOwed, running != .down, !queue.contains(where: { $0.action == .down }) else { return }
    run(.down) { [weak self] _ in self?.downEnded() }
  }

  private func downEnded() {
    isDownOwed = false
    platform.recoveryLog.forgetCommand(tunnel)
  }

  /// A `down` that has not begun is still due: its note stays, for the next start or for a clean-up.
  func cutShort() {
    // A `status` that does not end yet: to cut it would end what `up` has left running.
    if isLeft { return }
    queue = []
    if running != .down { isDownOwed = false }
    if running != nil { platform.commands.cut(tunnel) }
  }

  private func run(
    _ action: CommandAction, of other: CommandProviderConfiguration? = nil, then done: @escaping (CommandOutcome) -> Void
  ) {
    queue.append((action, other ?? command, done))
    next()
  }

  private func next() {
    guard running == nil, !queue.isEmpty else { return }
    let (action, command, done) = queue.removeFirst()
    running = action
    if action == .up {
      isDownOwed = true
      platform.recoveryLog.noteCommand(tunnel, command)
    }
    platform.commands.run(action, tunnel, command, outerWay().mark) { [weak self] outcome in
      guard let self else { return }
      running = nil
      done(outcome)
      next()
      changed()
    }
  }
}

extension CommandOutcome {
  fileprivate func event(onSuccess success: TunnelMachine.Event) -> TunnelMachine.Event {
    switch self {
    case .succeeded: success
    case .failed(let reason): .failed(TunnelFailure(.commandFailed, reason))
    }
  }
}
