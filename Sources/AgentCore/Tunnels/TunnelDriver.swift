internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// What one kind of tunnel does for its supervisor: carries out the machine's effects, and reports what came of them.
///
/// Reports come on the agent's thread, from within a call or later. One that belongs to an older life of the tunnel must not come at all.
protocol TunnelDriver: AnyObject {
  /// What carries the tunnel in the kernel; `nil` while there is nothing to make yet. `whileAwaiting` an answer
  /// it may ask for more than later.
  func device(whileAwaiting: Bool) -> DesiredLink.Device?
  /// For people: `kernel`, `roamward-wireguard`, `command`.
  var engineName: String { get }
  /// Nothing that was started is still to be ended.
  var isReleased: Bool { get }
  /// Starts; reports `prepared` or `failed`.
  func prepare(on underlay: LinkFacts?)
  /// Makes the other side answer on this underlay; reports `peerAnswered` or `failed`, unless the kernel's state is to tell.
  func probePeer(on underlay: LinkFacts?)
  /// The same of a tunnel that was connected, on a network that is new or back: what was answered before does not count.
  func reassert(on underlay: LinkFacts?)
  /// Begins new sessions, with the endpoints that are known; resolves them again meanwhile.
  func renewSessions(on underlay: LinkFacts?)
  /// Peers are to be given new sessions: a step of the next plan does that. Until then nothing that the device shows is an answer.
  var wantsNewSessions: Bool { get }
  /// The step was made, or was needless.
  func sessionsBegan()
  /// The families in which its peers are reached; `nil`: not known.
  var endpointFamilies: Set<IPAddress.Family>? { get }
  /// The same network is known better: name servers that were awaited, say.
  func learn(_ underlay: LinkFacts?)
  /// What its device shows now, alone; `nil`: nothing that tells whether the other side still answers.
  func readDevice() -> WireGuardState?
  /// When it goes on by itself at the latest; `nil`: never.
  var nextQuestion: Moment? { get }
  /// An attempt has ended without an answer, or with one: which addresses of an endpoint to use next.
  func noteAnswer(_ isAnswered: Bool)
  /// Takes up a question that has had no answer yet; called from time to time while one is awaited.
  func askAgain()
  /// Whether the kernel's state of the device says that the other side has answered.
  func isAnswered(by state: WireGuardState?) -> Bool
  /// Ends what was started.
  func release()
  /// No more time is left for that: what runs is ended at once, and nothing else is begun.
  func cutShort()
}

extension TunnelDriver {
  func cutShort() {}
  func reassert(on underlay: LinkFacts?) { probePeer(on: underlay) }
  func renewSessions(on underlay: LinkFacts?) { probePeer(on: underlay) }
  var wantsNewSessions: Bool { false }
  func sessionsBegan() {}
  var endpointFamilies: Set<IPAddress.Family>? { nil }
  func learn(_ underlay: LinkFacts?) {}
  func readDevice() -> WireGuardState? { nil }
  var nextQuestion: Moment? { nil }
  func noteAnswer(_ isAnswered: Bool) {}
}

extension ProviderConfiguration {
  func driver(
    of tunnel: String, platform: Platform, report: @escaping (TunnelMachine.Event) -> Void, changed: @escaping () -> Void
  ) -> any TunnelDriver {
    switch self {
    case .wireGuard(let provider):
      WireGuardDriver(
        provider.configuration, link: TunnelSetup.linkName(forTunnel: tunnel), platform: platform, report: report, changed: changed)
    case .command(let command): CommandDriver(command, tunnel: tunnel, platform: platform, report: report, changed: changed)
    }
  }

  package var isWireGuard: Bool { if case .wireGuard = self { true } else { false } }
}
