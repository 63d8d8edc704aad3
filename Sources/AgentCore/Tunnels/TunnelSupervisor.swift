internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// Drives one tunnel's machine: its driver carries out the effects, and returns their results.
final class TunnelSupervisor {
  private(set) var policy: TunnelPolicy
  /// The tunnel's slot in the tables, unless it is down.
  private(set) var slot: UInt32
  private(set) var machine = TunnelMachine()
  /// The time at which the state, as people see it, was entered.
  private(set) var stateSince: Timestamp
  private var connectedSince: Timestamp
  private let platform: Platform
  private let changed: () -> Void
  private var driver: (any TunnelDriver)?
  private var underlay: LinkFacts?
  /// Present while it is connected and its device shows whether the peer answers.
  private var liveness: TunnelLiveness?
  /// A changed policy with another provider: it takes over when the tunnel is down.
  private var successor: TunnelPolicy?
  /// Whether the tunnel goes down only to be replaced: one left as it is (`ignore`) comes up again.
  private var isToComeBack = false

  /// `changed` is called when a source outside the agent has moved the machine: a pass is due.
  init(policy: TunnelPolicy, platform: Platform, changed: @escaping () -> Void) {
    self.policy = policy
    slot = TunnelSetup.slots(for: policy.precedence).lowerBound
    self.platform = platform
    self.changed = changed
    stateSince = platform.clock.wallClock()
    connectedSince = stateSince
    makeDriver()
  }

  var linkName: String? { policy.linkName }

  var engineName: String { driver?.engineName ?? "" }

  /// Whether everything started has ended.
  var isReleased: Bool { driver?.isReleased ?? true }

  var isToBeReplaced: Bool { successor != nil }

  /// Whether rules or a person want it up, and nothing has wanted it down since.
  var isWanted: Bool { machine.isWanted || isToComeBack }

  /// The tunnel as input of the desired state.
  var setup: TunnelSetup {
    let device = driver?.device(whileAwaiting: machine.state.isAwaitingAnswer)
    var setup = TunnelSetup(
      policy: policy, level: device == nil ? .nothing : machine.level, slot: slot, link: linkName, device: device ?? .foreign)
    setup.renewsSessions = wantsNewSessions
    return setup
  }

  /// Whether its peers need new sessions.
  var wantsNewSessions: Bool { driver?.wantsNewSessions ?? false }

  /// Notes that they have new sessions, or that no device could have had others.
  func sessionsBegan() { driver?.sessionsBegan() }

  /// Whether a step is one of its own: of its link, or of its table.
  func owns(_ step: Step) -> Bool { step.concerns(link: linkName, table: Ownership.tables.lowerBound + slot) }

  /// Whether it is down and present only because another pass has to replace it, or remove it from `policies`.
  func isReadyToGo(_ policies: PolicySet) -> Bool {
    machine.state == .disconnected && (isToBeReplaced || policies.tunnel(named: policy.name) == nil)
  }

  /// Whether it is a WireGuard tunnel that is down.
  var isWireGuardAtRest: Bool { policy.provider.isWireGuard && machine.state == .disconnected }

  var standing: DesiredTunnels.Standing { .init(setup, isWanted: isWanted, isRunning: machine.isRunning) }

  /// Takes a changed policy. Settings are applied by the next plan; another provider means another tunnel, which starts again.
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

  /// Applies the intent of rules and operator, unless the tunnel has to go down first to be replaced. A starting tunnel takes a slot that
  /// is not `used`.
  func want(_ intent: Intent, on underlay: LinkFacts?, usedSlots used: @autoclosure () -> Set<UInt32> = []) {
    becomeSuccessor()
    if successor != nil {
      isToComeBack = intent == .unchanged ? isWanted : intent == .up
      return handle(.want(false), on: underlay)
    }
    let intent = intent == .unchanged && isToComeBack ? .up : intent
    isToComeBack = false
    // Another precedence class needs another slot among the rules.
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

  /// A tunnel that reconnects on another network counts as connected all along.
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

  /// Takes in the kernel's state of the device: an awaited answer.
  func observe(_ state: WireGuardState?) {
    guard machine.state.isAwaitingAnswer, driver?.isAnswered(by: state) == true else { return }
    driver?.noteAnswer(true)
    handle(.peerAnswered, on: underlay)
  }

  /// The families of its peers' endpoints while it is connected; `nil`: not known, or not connected.
  var endpointFamilies: Set<IPAddress.Family>? { machine.state == .connected ? driver?.endpointFamilies : nil }

  /// Whether the change concerns this tunnel: a change of the other family's path does not.
  func isConcerned(by news: (event: TunnelMachine.Event, paths: Set<IPAddress.Family>)) -> Bool {
    guard news.event == .underlayChanged, let families = endpointFamilies else { return true }
    return !families.isDisjoint(with: news.paths)
  }

  /// The time of the next sample of its device; `nil`: none.
  var nextSample: Moment? { liveness?.nextSample }

  /// Samples whether the peer still answers. Returns the length of its silence, if that puts the tunnel in doubt.
  func samplePeer() -> Duration? {
    guard machine.state == .connected, let device = driver?.readDevice() else { return nil }
    return liveness?.take(device, at: platform.clock.now())
  }

  /// Begins to sample it, if its device shows whether the peer answers.
  func beginSampling() {
    guard machine.state == .connected, liveness == nil, let device = driver?.readDevice() else { return }
    var liveness = TunnelLiveness()
    _ = liveness.take(device, at: platform.clock.now())
    self.liveness = liveness
  }

  /// Whether the device shows the awaited answer.
  func isAnswered(by state: WireGuardState) -> Bool { machine.state.isAwaitingAnswer && driver?.isAnswered(by: state) == true }

  /// Handles the loss of its device. It has failed if no query can show whether the peer still answers.
  func loseDevice(on underlay: LinkFacts?) {
    if case .command(let command) = policy.provider, command.status.isEmpty {
      handle(.failed(TunnelFailure(.linkGone, "its link \(command.interface ?? "") is gone")), on: underlay)
    } else {
      handle(.deviceGone, on: underlay)
    }
  }

  /// Kills what still runs.
  func cutShort() { driver?.cutShort() }

  /// The time of the next query that only the clock triggers.
  var nextQuestion: Moment? { driver?.nextQuestion }

  /// Takes in new facts of the same underlay.
  func learn(_ underlay: LinkFacts?) {
    self.underlay = underlay
    driver?.learn(underlay)
  }

  func askAgain() { if machine.state.isAwaitingAnswer { driver?.askAgain() } }

  private func becomeSuccessor() {
    guard let next = successor, machine.state == .disconnected, isReleased else { return }
    policy = next
    successor = nil
    // Failures and waits were those of the previous tunnel.
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
