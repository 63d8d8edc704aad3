internal import KernelModel
internal import RoamwardCore

/// Drives a tunnel whose programs bring it up, take it down and check it: carries out the effects of its life.
final class CommandDriver: TunnelDriver, PolledDriver, CuttableDriver {
  private let command: CommandProviderConfiguration
  private let tunnel: String
  private let platform: Platform
  private let outlets: DriverOutlets
  private var life: CommandLife

  init(_ command: CommandProviderConfiguration, tunnel: String, platform: Platform, outlets: DriverOutlets) {
    self.command = command
    self.tunnel = tunnel
    self.platform = platform
    self.outlets = outlets
    life = CommandLife(hasStatus: !command.status.isEmpty)
  }

  let engineName = "command"

  var isTornDown: Bool { life.isTornDown }

  func device(whileAwaiting: Bool) -> DesiredLink.Device? { .foreign }

  func prepare(on underlay: LinkFacts?) { handle(.prepare) }

  func probePeer(on underlay: LinkFacts?) { handle(.probePeer) }

  func askAgain() { handle(.askAgain) }

  func tearDown() { handle(.tearDown) }

  func cutShort() { handle(.cutShort) }

  /// Its programs run by themselves; its note stays, with the `down` that is due.
  func handOver() -> DriverHandOver? {
    handle(.handOver)
    return life.isLeft ? DriverHandOver() : nil
  }

  /// A command that was changed meanwhile, or whose link is gone, ends by its own `down`, before the new one starts.
  func takeOver(_ left: LeftTunnel, on underlay: LinkFacts?) -> Bool {
    guard let started = left.command else { return false }
    if left.isFitting, left.hasLink || command.interface == nil, started == command {
      handle(.takeOver)
      return true
    }
    handle(.replace, replaced: started)
    return false
  }

  /// `replaced`: the command of another agent, which `replace` takes down.
  private func handle(_ event: CommandLife.Event, replaced: CommandProviderConfiguration? = nil) {
    for effect in life.handle(event) {
      switch effect {
      case .run(let action): run(action, of: command)
      case .runOtherDown: if let replaced { run(.down, of: replaced) }
      case .end: platform.commands.end(tunnel)
      case .cut: platform.commands.cut(tunnel)
      case .forgetNote: platform.recoveryLog.forgetCommand(tunnel)
      case .report(let event): outlets.report(event)
      case .changed: outlets.changed()
      }
    }
  }

  private func run(_ action: CommandAction, of command: CommandProviderConfiguration) {
    if action == .up { platform.recoveryLog.recordCommand(tunnel, command) }
    platform.commands.run(action, tunnel, command, outlets.outerWay().mark) { [weak self] in self?.handle(.ended($0)) }
  }
}
