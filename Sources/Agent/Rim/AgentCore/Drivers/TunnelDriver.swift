internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// The operations of one kind of tunnel, without which there is none: it carries out the machine's effects, and reports their results. What
/// a kind can do beside these is a protocol of its own (`DriverAbilities`).
///
/// Reports come on the agent's thread, during a call or later. A report of an earlier life of the tunnel must not come at all.
protocol TunnelDriver: AnyObject {
  /// The engine's name for people: `kernel`, `roamward-wireguard`, `command`.
  var engineName: String { get }
  /// Whether everything started has ended.
  var isTornDown: Bool { get }
  /// The tunnel's device in the kernel; `nil` if there is none to create yet. `whileAwaiting` an answer, its configuration has keepalives.
  func device(whileAwaiting: Bool) -> DesiredLink.Device?
  /// Starts; reports `prepared` or `failed`.
  func prepare(on underlay: LinkFacts?)
  /// Verifies the peer on this underlay; reports `peerAnswered` or `failed`, unless the kernel's state shows the result.
  func probePeer(on underlay: LinkFacts?)
  /// Ends everything started.
  func tearDown()
  /// Leaves what it has started to the next agent, and forgets it; `nil`: it cannot, and has to be torn down.
  func handOver() -> DriverHandOver?
  /// Takes over what another agent has left. Returns false if this driver would have made another one; then it ends what is left.
  func takeOver(_ left: LeftTunnel, on underlay: LinkFacts?) -> Bool
}

/// The state that a driver leaves to the driver of the next agent.
struct DriverHandOver {
  /// The provider's program and its channel, as JSON; `nil`: it has none.
  var provider: String?
}

/// The parts of a tunnel that the last agent has left in place.
struct LeftTunnel {
  /// Whether its slot, its link and its outer tunnel are those that this agent would give it.
  var isFitting = true
  /// The state of its WireGuard device; `nil`: there is none.
  var device: WireGuardState?
  /// Whether its link exists.
  var hasLink: Bool
  /// The command whose `down` is due; `nil`: none.
  var command: CommandProviderConfiguration?
  /// The provider's program and its channel, as the last driver has noted them.
  var provider: String?
}

extension ProviderConfiguration {
  func driver(of policy: @escaping () -> TunnelPolicy, named tunnel: String, platform: Platform, outlets: DriverOutlets) -> any TunnelDriver
  {
    switch self {
    case .wireGuard(let provider):
      WireGuardDriver(
        provider.configuration ?? .unread, link: TunnelSetup.linkName(forTunnel: tunnel), isInner: policy().through != nil,
        platform: platform, outlets: outlets)
    case .command(let command):
      CommandDriver(command, tunnel: tunnel, platform: platform, outlets: outlets)
    case .service(let service): ServiceDriver(service, tunnel: tunnel, policy: policy, platform: platform, outlets: outlets)
    case .installed(let provider):
      InstalledDriver(provider, tunnel: tunnel, policy: policy, platform: platform, outlets: outlets)
    }
  }

  /// The machine of a tunnel that is down. A provider's own time limits come before those of the machine.
  var machine: TunnelMachine {
    // systemd reads its files again before a unit starts, which takes seconds on a busy machine.
    if case .service(let service) = self, service.hasGroup { return TunnelMachine(timing: .init(connect: .seconds(60))) }
    guard case .installed = self else { return TunnelMachine() }
    // While a person is asked, neither passes.
    return TunnelMachine(timing: .init(connect: .seconds(90), reassert: .seconds(33), silence: .seconds(33)))
  }
}
