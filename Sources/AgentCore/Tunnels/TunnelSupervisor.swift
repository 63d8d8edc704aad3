internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// Drives one tunnel's machine: has its effects carried out by the tunnel's driver, and hands it what comes of them.
final class TunnelSupervisor {
  private(set) var policy: TunnelPolicy
  /// Its place in the tables, while it is anything but down.
  private(set) var slot: UInt32
  private(set) var machine = TunnelMachine()
  /// Seconds since 1970 at which the state, as people know it, was entered.
  private(set) var stateSince: Int64
  private var connectedSince: Int64 = 0
  private let platform: Platform
  private let changed: () -> Void
  private var driver: (any TunnelDriver)?
  private var underlay: LinkFacts?
  /// While it is connected and its device tells whether the peer answers.
  private var liveness: TunnelLiveness?
  /// A changed policy with another provider: it takes the old one's place when the tunnel is down.
  private var successor: TunnelPolicy?
  /// The tunnel goes down only to be replaced: what was left as it is (`ignore`) comes up again.
  private var isToComeBack = false

  /// `changed` is called when something outside has moved the machine: a pass is due.
  init(policy: TunnelPolicy, platform: Platform, changed: @escaping () -> Void) {
    self.policy = policy
    slot = TunnelSetup.slots(for: policy.precedence).lowerBound
    self.platform = platform
    self.changed = changed
    stateSince = platform.clock.wallClock()
    makeDriver()
  }

  var linkName: String? { policy.linkName }

  var engineName: String { driver?.engineName ?? "" }

  /// Whether nothing is left to end that was started.
  var isReleased: Bool { driver?.isReleased ?? true }

  var isToBeReplaced: Bool { successor != nil }

  /// Rules or a person have wanted it up, and nothing has wanted it down since.
  var isWanted: Bool { machine.isWanted || isToComeBack }

  /// How the tunnel stands towards the kernel.
  var setup: TunnelSetup {
    let device = driver?.device(whileAwaiting: machine.state.isAwaitingAnswer)
    var setup = TunnelSetup(
      policy: policy, level: device == nil ? .nothing : machine.level, slot: slot, link: linkName, device: device ?? .foreign)
    setup.renewsSessions = wantsNewSessions
    return setup
  }

  /// Its peers are to be given new sessions.
  var wantsNewSessions: Bool { driver?.wantsNewSessions ?? false }

  /// They have been given them, or there is no device that could have had others.
  func sessionsBegan() { driver?.sessionsBegan() }

  /// Whether a step is one of its own: of its link, or of its table.
  func owns(_ step: Step) -> Bool { step.concerns(link: linkName, table: Ownership.tables.lowerBound + slot) }

  /// Whether it is down and only there because another pass has to replace it, or to remove it from `policies`.
  func isReadyToGo(_ policies: PolicySet) -> Bool {
    machine.state == .disconnected && (isToBeReplaced || policies.tunnel(named: policy.name) == nil)
  }

  var standing: DesiredTunnels.Standing { .init(setup, isWanted: isWanted, isRunning: machine.isRunning) }

  /// Takes a changed policy. Settings follow by themselves; another provider means another tunnel, which starts anew.
  func update(_ policy: TunnelPolicy) {
    if policy.provider.isSameTunnel(as: self.policy.provider) {
      let isSame = policy.isSameSetup(as: self.policy)
      self.policy = policy
      successor = nil
      if !isSame { handle(.settingsChanged, on: underlay) }
    } else {
      successor = policy
      becomeSuccessor()
    }
  }

  /// What rules and operator want, unless the tunnel has to go down first to become another. One that starts
  /// takes a slot that is not `used`.
  func want(_ intent: Intent, on underlay: LinkFacts?, usedSlots used: @autoclosure () -> Set<UInt32> = []) {
    becomeSuccessor()
    if successor != nil {
      isToComeBack = intent == .unchanged ? isWanted : intent == .up
      return handle(.want(false), on: underlay)
    }
    let intent = intent == .unchanged && isToComeBack ? .up : intent
    isToComeBack = false
    // Another class has another place among the rules.
    let isMisplaced = !TunnelSetup.slots(for: policy.precedence).contains(slot)
    if machine.isRunning ? isMisplaced : intent == .up { slot = TunnelSetup.freeSlot(for: policy.precedence, used: used()) }
    switch intent {
    case .up: handle(.want(true), on: underlay)
    case .down: handle(.want(false), on: underlay)
    case .unchanged: break
    }
  }

  func handle(_ event: TunnelMachine.Event, on underlay: LinkFacts?) {
    self.underlay = underlay
    let before = machine.state
    let effects = machine.handle(event, at: platform.clock.now())
    noteTime(before)
    if case .backingOff = machine.state, before.isAwaitingAnswer, event == .tick { driver?.noteAnswer(false) }
    if machine.state != before { liveness = nil }
    for effect in effects {
      switch effect {
      case .prepare: driver?.prepare(on: underlay)
      case .probePeer: driver?.probePeer(on: underlay)
      case .reassert: driver?.reassert(on: underlay)
      case .renewSessions: driver?.renewSessions(on: underlay)
      case .release: driver?.release()
      }
    }
  }

  /// A tunnel that asserts itself on another network has been connected all along.
  private func noteTime(_ before: TunnelMachine.State) {
    guard machine.state.status != before.status else { return }
    let now = platform.clock.wallClock()
    if machine.state == .connected {
      if case .reasserting = before {} else { connectedSince = now }
      stateSince = connectedSince
    } else {
      stateSince = now
    }
  }

  /// Takes in what the kernel shows of the device: an answer that is awaited.
  func observe(_ state: WireGuardState?) {
    guard machine.state.isAwaitingAnswer, driver?.isAnswered(by: state) == true else { return }
    driver?.noteAnswer(true)
    handle(.peerAnswered, on: underlay)
  }

  /// The families in which its peers are reached while it is connected; `nil`: not known, or not connected.
  var endpointFamilies: Set<IPAddress.Family>? { machine.state == .connected ? driver?.endpointFamilies : nil }

  /// The other family's path is not this tunnel's.
  func isConcerned(by news: (event: TunnelMachine.Event, paths: Set<IPAddress.Family>)) -> Bool {
    guard news.event == .underlayChanged, let families = endpointFamilies else { return true }
    return !families.isDisjoint(with: news.paths)
  }

  /// When to sample its device; `nil`: not at all.
  var nextSample: Moment? { liveness?.nextSample }

  /// Looks whether the peer still answers what is sent to it. How long it has not, where that is a reason to doubt the tunnel.
  func samplePeer() -> Duration? {
    guard machine.state == .connected, let device = driver?.readDevice() else { return nil }
    return liveness?.take(device, at: platform.clock.now())
  }

  /// From now on it is sampled, where its device tells anything.
  func beginSampling() {
    guard machine.state == .connected, liveness == nil, let device = driver?.readDevice() else { return }
    var liveness = TunnelLiveness()
    _ = liveness.take(device, at: platform.clock.now())
    self.liveness = liveness
  }

  /// Whether the device shows the answer that is awaited.
  func isAnswered(by state: WireGuardState) -> Bool { machine.state.isAwaitingAnswer && driver?.isAnswered(by: state) == true }

  /// The device that carried it has gone. Where nobody can be asked whether the other side still answers, it has failed.
  func loseDevice(on underlay: LinkFacts?) {
    if case .command(let command) = policy.provider, command.status.isEmpty {
      handle(.failed(TunnelFailure(.linkGone, "its link \(command.interface ?? "") is gone")), on: underlay)
    } else {
      handle(.deviceGone, on: underlay)
    }
  }

  /// What still ends is given no more time.
  func cutShort() { driver?.cutShort() }

  /// When the next question is due that nothing but the clock brings about.
  var nextQuestion: Moment? { driver?.nextQuestion }

  /// The network below is known better than before.
  func learn(_ underlay: LinkFacts?) {
    self.underlay = underlay
    driver?.learn(underlay)
  }

  func askAgain() { if machine.state.isAwaitingAnswer { driver?.askAgain() } }

  private func becomeSuccessor() {
    guard let next = successor, machine.state == .disconnected, isReleased else { return }
    policy = next
    successor = nil
    // Failures and waits were the other one's.
    machine = TunnelMachine()
    makeDriver()
  }

  private func makeDriver() {
    driver = policy.provider.driver(
      of: policy.name, platform: platform,
      report: { [weak self] event in
        guard let self else { return }
        handle(event, on: underlay)
      }, changed: changed)
  }
}
