internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// The operations of one kind of tunnel: carries out the machine's effects, and reports their results.
///
/// Reports come on the agent's thread, during a call or later. A report of an earlier life of the tunnel must not come at all.
protocol TunnelDriver: AnyObject {
  /// The tunnel's device in the kernel; `nil` if there is none to create yet. `whileAwaiting` an answer, its configuration has keepalives.
  func device(whileAwaiting: Bool) -> DesiredLink.Device?
  /// The engine's name for people: `kernel`, `roamward-wireguard`, `command`.
  var engineName: String { get }
  /// Whether everything started has ended.
  var isReleased: Bool { get }
  /// Starts; reports `prepared` or `failed`.
  func prepare(on underlay: LinkFacts?)
  /// Starts without a session; reports `prepared` or `failed`. Names are resolved meanwhile, and no failure of that is reported.
  func arm(on underlay: LinkFacts?)
  /// Discards all sessions by a step of the next plan, and begins none. On another network it resolves names again.
  func rearm(on underlay: LinkFacts?)
  /// Begins sessions from a device without peers: with the known endpoints, while names are resolved again. A pass follows anyway.
  func open(on underlay: LinkFacts?)
  /// Handles packets that an armed tunnel could not send: its endpoint may have no address yet.
  func packetsCame(on underlay: LinkFacts?)
  /// Leaves what it has started to the next agent, and forgets it; `nil`: it cannot, and has to be released.
  func handOver() -> DriverHandOver?
  /// Takes over what another agent has left. Returns false if this driver would have made another one; then it ends what is left.
  func takeOver(_ left: LeftTunnel, on underlay: LinkFacts?) -> Bool
  /// Verifies the peer on this underlay; reports `peerAnswered` or `failed`, unless the kernel's state shows the result.
  func probePeer(on underlay: LinkFacts?)
  /// The same for a connected tunnel on a new or returned network: earlier answers do not count.
  func reassert(on underlay: LinkFacts?)
  /// Begins new sessions with the known endpoints; resolves them again meanwhile.
  func renewSessions(on underlay: LinkFacts?)
  /// Whether peers need new sessions, by a step of the next plan. Until then no handshake of the device counts as an answer.
  var wantsNewSessions: Bool { get }
  /// Notes that the step was applied, or was needless.
  func sessionsBegan()
  /// Its peers' endpoints, as far as the agent knows their addresses.
  var endpoints: [(address: IPAddress, port: UInt16)] { get }
  /// The program that has the port of its configuration; it listens at another one. `nil`: none.
  var portHolder: PortHolder? { get }
  /// Takes in new facts of the same network, for example its name servers.
  func learn(_ underlay: LinkFacts?)
  /// The present state of its device alone; `nil`: the device does not show whether the peer answers.
  func readDevice() -> WireGuardState?
  /// Notes the result of an attempt, to select the next address of an endpoint.
  func noteAnswer(_ isAnswered: Bool)
  /// Repeats an unanswered query; called from time to time while an answer is awaited.
  func askAgain()
  /// Whether the kernel's state of the device shows an answer of the peer.
  func isAnswered(by state: WireGuardState?) -> Bool
  /// Whether only a read of the device shows the awaited answer.
  var isPolled: Bool { get }
  /// The moment at which it has something to do by itself (`advance`); `nil`: never.
  var nextDeadline: Moment? { get }
  /// When `sample` is to be called; `nil`: never.
  var nextSample: Moment? { get }
  /// Takes a sample of a tunnel that is up; returns the event that follows from it.
  func sample() -> TunnelMachine.Event?
  /// Does what is due.
  func advance()
  /// The kernel and the DNS backend have everything that the tunnel's level requires.
  func applied()
  /// The settings that the provider has brought, beside those of the policy.
  var brought: BroughtSettings { get }
  /// Ends everything started.
  func release()
  /// Kills what runs, and begins nothing else: the time for `release` is over.
  func cutShort()
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

extension TunnelDriver {
  func cutShort() {}
  var isPolled: Bool { true }
  var nextDeadline: Moment? { nil }
  func advance() {}
  var nextSample: Moment? { nil }
  func sample() -> TunnelMachine.Event? { nil }
  func applied() {}
  var brought: BroughtSettings { BroughtSettings() }
  func arm(on underlay: LinkFacts?) { prepare(on: underlay) }
  func rearm(on underlay: LinkFacts?) {}
  func open(on underlay: LinkFacts?) { probePeer(on: underlay) }
  func packetsCame(on underlay: LinkFacts?) {}
  func handOver() -> DriverHandOver? { nil }
  func takeOver(_ left: LeftTunnel, on underlay: LinkFacts?) -> Bool { false }
  func reassert(on underlay: LinkFacts?) { probePeer(on: underlay) }
  func renewSessions(on underlay: LinkFacts?) { probePeer(on: underlay) }
  var wantsNewSessions: Bool { false }
  func sessionsBegan() {}
  var endpoints: [(address: IPAddress, port: UInt16)] { [] }
  var portHolder: PortHolder? { nil }
  func learn(_ underlay: LinkFacts?) {}
  func readDevice() -> WireGuardState? { nil }
  func noteAnswer(_ isAnswered: Bool) {}
}

extension ProviderConfiguration {
  func driver(of policy: @escaping () -> TunnelPolicy, named tunnel: String, platform: Platform, outlets: DriverOutlets) -> any TunnelDriver
  {
    switch self {
    case .wireGuard(let provider):
      WireGuardDriver(
        provider.configuration ?? .unread, link: TunnelSetup.linkName(forTunnel: tunnel), platform: platform, outlets: outlets)
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
