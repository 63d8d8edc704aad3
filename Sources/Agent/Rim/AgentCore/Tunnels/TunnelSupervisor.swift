internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// Drives one tunnel's machine: its driver carries out the effects, and returns their results.
final class TunnelSupervisor {
  private(set) var policy: TunnelPolicy { didSet { surroundings.reordered() } }
  /// The tunnel's slot in the tables, unless it is down.
  private(set) var slot: UInt32 { didSet { if slot != oldValue { surroundings.reordered() } } }
  private(set) var machine: TunnelMachine { didSet { if machine.isEngaged != oldValue.isEngaged { surroundings.moved() } } }
  private var times: StateTimes
  private let platform: Platform
  private let surroundings: TunnelSurroundings
  private var abilities: DriverAbilities?
  private var underlay: LinkFacts?
  private var watch = PeerWatch()
  /// The reason that keeps it up until it is idle: a look-up, or the start before a rule watched look-ups.
  private(set) var lookup = LookupStart()
  private(set) var replacement = Replacement.none { didSet { if replacement.isUnderWay != oldValue.isUnderWay { surroundings.moved() } } }
  private(set) var nesting = Nesting()

  init(policy: TunnelPolicy, platform: Platform, surroundings: TunnelSurroundings) {
    self.policy = policy
    self.surroundings = surroundings
    machine = policy.provider.machine
    slot = policy.slots.lowerBound
    self.platform = platform
    times = StateTimes(at: platform.clock.wallClock())
    makeDriver()
  }

  var linkName: String? { policy.linkName }

  private var driver: (any TunnelDriver)? { abilities?.driver }

  var engineName: String { driver?.engineName ?? "" }

  /// Whether everything started has ended.
  var isTornDown: Bool { driver?.isTornDown ?? true }

  var isToBeReplaced: Bool { replacement.isPending }

  /// Whether rules or a person want it up, and nothing has wanted it down since.
  var isWanted: Bool { machine.isWanted || replacement.comesBack.intent != nil || nesting.awaitsOuter }

  /// The time at which the state, as people see it, was entered.
  var stateSince: Timestamp { times.since }

  /// The tunnel as input of the desired state.
  var setup: TunnelSetup {
    let device = driver?.device(whileAwaiting: machine.state.isAwaitingAnswer)
    var setup = TunnelSetup(
      policy: policyInForce, level: device == nil ? .nothing : machine.level, slot: slot, link: linkName, device: device ?? .foreign)
    setup.renewsSessions = wantsNewSessions
    setup.isSilent = machine.isSilent
    setup.progress = lookup.allowsQuestions ? .connected : machine.progress
    setup.portHolder = abilities?.ports?.portHolder?.description
    return setup
  }

  /// The policy with the settings that the provider has brought.
  var policyInForce: TunnelPolicy { abilities?.settings.map { policy.with($0.brought) } ?? policy }

  /// The provider as a program of its own; `nil`: it is another kind of tunnel.
  var installed: InstalledDriver? { driver as? InstalledDriver }

  /// Whether its answer is awaited, and only a read of its device shows it.
  var isPolled: Bool { machine.state.isAwaitingAnswer && abilities?.polled != nil }

  /// When its driver has something to do by itself.
  var driverDeadline: Moment? { abilities?.timed?.nextDeadline }

  var isTimed: Bool { abilities?.timed != nil }

  func advance() { abilities?.timed?.advance() }

  /// Whether its peers need new sessions.
  var wantsNewSessions: Bool { abilities?.sessions?.wantsNewSessions ?? false }

  /// Records that they have new sessions, or that no device could have had others.
  func sessionsBegan() { abilities?.sessions?.sessionsBegan() }

  var current: DesiredTunnels.CurrentTunnel {
    var current = DesiredTunnels.CurrentTunnel(setup, isWanted: isWanted, isRunning: machine.isRunning)
    current.reservedSlot = replacement.comesBack.slot
    return current
  }

  /// Takes a changed policy. Settings are applied by the next plan; another provider means another tunnel, which starts again.
  func update(_ policy: TunnelPolicy) {
    if policy.provider.isSameTunnel(as: self.policy.provider), policy.through?.name == self.policy.through?.name {
      let isSame = policy.isSameSetup(as: self.policy)
      self.policy = policy
      replacement.end()
      if !isSame { handle(.settingsChanged, on: underlay) }
    } else {
      replacement.begin(with: policy)
      becomeSuccessor()
    }
  }

  /// Applies the intent of rules and operator, unless the tunnel has to go down first to be replaced. A starting tunnel takes a slot that
  /// is not `used`. `isReady`: while it is down, its device is to be ready; `nil`: as before.
  func want(
    _ intent: Intent, isReady: Bool? = nil, on underlay: LinkFacts?, usedSlots used: @autoclosure () -> Set<UInt32> = []
  ) {
    if let isReady { lookup.setTargetWhenDown(isReady: isReady) }
    becomeSuccessor()
    if replacement.isPending {
      // A copy, because the search for a slot reads the current state of every tunnel.
      var next = replacement
      next.want(intent, now: machine.isWanted ? (machine.target == .armed ? .armed : .up) : nil) {
        TunnelSetup.freeSlot(for: $0, used: used().subtracting([slot]), keeping: slot)
      }
      replacement = next
      return handle(.want(.down), on: underlay)
    }
    let back = replacement.takeReturn()
    let intent = lookup.take(
      intent == .unchanged ? back.intent ?? intent : intent, isWanted: machine.target == .up, at: platform.clock.now())
    // Another class needs another slot among the rules at once. Other prefixes may need one from the next start on.
    let isMisplaced = !policy.slotsOfClass.contains(slot)
    if machine.isRunning ? isMisplaced : [.up, .armed].contains(intent) || intent == .down && lookup.targetWhenDown == .ready {
      slot = back.slot ?? TunnelSetup.freeSlot(for: policy, used: used())
    }
    let isDue = intent == .up || intent == .unchanged && nesting.awaitsOuter
    nesting.want(isDue: isDue, isRunning: machine.isRunning, isOpen: isOuterOpen)
    switch isDue ? .up : intent {
    case .up where nesting.awaitsOuter: break
    case .up: handle(.want(.up), on: underlay)
    case .armed: handle(.want(.armed), on: underlay)
    case .down: handle(.want(lookup.targetWhenDown), on: underlay)
    case .watched, .unchanged:
      // A changed policy may have taken the permission to be armed, and another rule watches no look-ups.
      let isOver = machine.target == .armed && policy.armingObstacle != nil || machine.target == .ready && lookup.targetWhenDown == .down
      if isOver { handle(.want(lookup.targetWhenDown), on: underlay) }
    }
  }

  /// Leaves it as it is until no tunnel goes through it: then it is to go down.
  func endAfterInner(on underlay: LinkFacts?) {
    want(.unchanged, on: underlay)
    nesting.endAfterInner()
  }

  private var isOuterOpen: Bool { surroundings.outerWay(policy).isOpen }

  /// The change of the outer tunnel since the last call, as a change of the underlay.
  func takeOuterNews() -> TunnelMachine.Event? {
    nesting.take(isOpen: isOuterOpen, isRunning: machine.isRunning).map { $0 == .followed(isOpen: true) ? .underlayChanged : .underlayLost }
  }

  /// Whether it can carry nothing, because the outer tunnel does not.
  var isOuterLost: Bool { policy.through != nil && nesting.isOuterLost(isRunning: machine.isRunning) }

  /// Whether it has not taken in a change of its outer tunnel yet.
  var isBehindOuterTunnel: Bool { policy.through != nil && nesting.isBehind(isOpen: isOuterOpen, isRunning: machine.isRunning) }

  /// All steps of its start were made: its names can be asked for before the observation that verifies them (docs/decisions/0053).
  func allowQuestions() { lookup.allowQuestions() }

  func handle(_ event: TunnelMachine.Event, on underlay: LinkFacts?) {
    self.underlay = underlay
    let (before, status) = (machine.state, machine.status)
    let now = platform.clock.now()
    let event = isIdleInstead(of: event) ? .idle : event == .tick ? knownReason(at: now) ?? event : event
    let effects = machine.handle(lookup.turn(event, in: machine.state, at: now), at: now)
    lookup.follow(machine.state)
    recordTime(before, status)
    if event == .applied { abilities?.settings?.applied() }
    if event == .tick, before.isAwaitingAnswer, machine.state.hasGivenUp { abilities?.sessions?.recordAnswer(false) }
    watch.follow(machine.state, hasMoved: machine.state != before, endsWhenIdle: endsWhenIdle)
    carryOut(effects, on: underlay)
  }

  /// The failure of a tunnel whose peer has not answered on this network in time, if this machine knows why.
  private func knownReason(at now: Moment) -> TunnelMachine.Event? {
    guard let deadline = machine.state.answerDeadline, deadline <= now else { return nil }
    return surroundings.obstacle(self, true).map { .failed($0) }
  }

  /// Whether the endpoints are to be tried now.
  var isTrialDue: Bool { machine.state.answerDeadline.map { watch.trials.isDue(at: platform.clock.now(), until: $0) } ?? false }

  /// The obstacle to all its endpoints while their answer is awaited; `nil`: one may be reached. `isOver`: the wait has ended.
  func tryEndpoints(isOver: Bool) -> TunnelFailure? {
    guard let deadline = machine.state.answerDeadline, let abilities else { return nil }
    return watch.trials.obstacle(to: abilities.ports?.endpoints ?? [], until: deadline, isOver: isOver, at: platform.clock.now()) {
      platform.network.tryEndpoint($0, $1, Ownership.mark)
    }
  }

  private func carryOut(_ effects: [TunnelMachine.Effect], on underlay: LinkFacts?) {
    for effect in effects { abilities?.carryOut(effect, on: underlay) }
  }

  /// Whether the next agent may take the tunnel over; otherwise it has to be taken down before this agent ends.
  var mayBeHandedOver: Bool { !replacement.isPending && machine.isWanted && machine.state.isUp && !nesting.awaitsOuter }

  /// Leaves the tunnel to the next agent. Returns what that needs; `nil`: it has to be taken down.
  func handOver() -> HandOver.Tunnel? {
    guard mayBeHandedOver, let left = driver?.handOver() else { return nil }
    return HandOver.Tunnel(
      slot: slot, connectedSince: times.connectedSince, link: linkName, outer: policy.through?.name, provider: left.provider)
  }

  /// Takes over the tunnel that another agent has left. Otherwise it is leftover state. `isOuterSame`: the tunnel that it goes through
  /// was taken over, or there is none.
  func takeOver(_ noted: HandOver.Tunnel, _ left: LeftTunnel, isOuterSame: Bool, on underlay: LinkFacts?) {
    var left = left
    left.isFitting =
      machine.state == .disconnected && policy.isEnabled && policy.slotsOfClass.contains(noted.slot)
      && policy.through?.name == noted.outer && isOuterSame && linkName == noted.link
    guard driver?.takeOver(left, on: underlay) == true else { return }
    self.underlay = underlay
    slot = noted.slot
    let (before, status) = (machine.state, machine.status)
    let isOuterOpen = isOuterOpen
    _ = nesting.take(isOpen: isOuterOpen, isRunning: false)
    let effects = machine.takeOver(hasNetwork: underlay != nil && isOuterOpen, at: platform.clock.now())
    recordTime(before, status)
    times.takeOver(noted.connectedSince)
    carryOut(effects, on: underlay)
  }

  /// A program has looked up one of its names: it comes up, until it is idle. Returns whether that starts it.
  func lookUp(_ look: NameLookup, on underlay: LinkFacts?, usedSlots used: @autoclosure () -> Set<UInt32>) -> Bool {
    let isStart = lookup.record(look, isUp: machine.target == .up, at: platform.clock.now())
    if isStart { want(lookup.intent, on: underlay, usedSlots: used()) }
    return isStart
  }

  /// Whether it ends after the idle time: its session, if it was armed, or all of it.
  private var endsWhenIdle: Bool { machine.endsWhenIdle || lookup.endsWhenIdle(policy) && machine.state.isUp }

  private func recordTime(_ before: TunnelMachine.State, _ status: String) {
    if machine.status != status { times.enter(machine.state, after: before, at: platform.clock.wallClock()) }
  }

  /// Takes in the kernel's state of the device: an awaited answer.
  func observe(_ state: WireGuardState?) {
    if machine.state == .armed, !wantsNewSessions, state?.isStirred == true { handle(.called, on: underlay) }
    guard machine.state.isAwaitingAnswer, abilities?.sessions?.isAnswered(by: state) == true else { return }
    abilities?.sessions?.recordAnswer(true)
    handle(.peerAnswered, on: underlay)
  }

  /// The families of its peers' endpoints while it is connected; `nil`: not known, or not connected.
  var endpointFamilies: Set<IPAddress.Family>? {
    let families = machine.state == .connected ? Set(endpoints.map(\.family)) : []
    return families.isEmpty ? nil : families
  }

  /// The addresses of its peers' endpoints, as far as the agent knows them.
  var endpoints: [IPAddress] { abilities?.ports?.endpoints.map(\.address) ?? [] }

  /// Whether the change concerns this tunnel: a change of the other family's path does not.
  func isConcerned(by news: (event: TunnelMachine.Event, paths: Set<IPAddress.Family>)) -> Bool {
    guard news.event == .underlayChanged, let families = endpointFamilies else { return true }
    return !families.isDisjoint(with: news.paths)
  }

  /// When its device is looked at again for the first packet into it; `nil`: at that packet.
  var nextWatch: Moment? { watch.packets.nextWatch }

  /// The time of the next sample of its device; `nil`: none.
  var nextSample: Moment? { [watch.sampling.nextSample, idleEnd, lookup.end(in: machine.state), ownSample].compactMap { $0 }.min() }

  /// When its driver takes a sample of its own.
  private var ownSample: Moment? { machine.state.isUp ? abilities?.sampling?.nextSample : nil }

  /// Samples whether the peer still answers, and whether data flows. Returns the event if the tunnel is to be doubted, or is idle.
  func samplePeer() -> TunnelMachine.Event? {
    let now = platform.clock.now()
    if let end = lookup.end(in: machine.state), end <= now { return .idle }
    if let due = ownSample, due <= now, let event = abilities?.sampling?.sample() { return event }
    return watch.sampling.take(counters, isConnected: machine.state == .connected, limit: policy.idleInForce, at: now)
  }

  /// Begins to sample it, if its device shows whether the peer answers.
  func beginSampling() {
    guard machine.state == .connected else { return }
    watch.sampling.begin(counters, endsWhenIdle: endsWhenIdle, at: platform.clock.now())
  }

  /// Samples become rare once nothing is sent. `came` is called at the next packet: a sample is due.
  func watchQuiet(_ came: @escaping () -> Void) {
    guard machine.state == .connected, let linkName else { return }
    watch.sampling.watchQuiet(linkName, platform) { [weak self, platform] in
      self?.watch.sampling.packetCame(at: platform.clock.now())
      came()
    }
  }

  /// When its session ends, unless data flows before.
  private var idleEnd: Moment? { watch.sampling.idleEnd(policy.idleInForce) }

  private var counters: TunnelSampling.Counters {
    TunnelSampling.Counters(
      packets: { [platform, policy, linkName] in
        guard !policy.provider.isWireGuard, let counts = linkName.flatMap(platform.machine.countPackets) else { return nil }
        return counts.received &+ counts.sent
      }, device: { [abilities] in abilities?.sessions?.readDevice() })
  }

  /// Whether its time is over, so that another network, or the end of a sleep, is no reason to ask the peer.
  private func isIdleInstead(of event: TunnelMachine.Event) -> Bool {
    guard [.underlayChanged, .slept].contains(event), let idleEnd, idleEnd <= platform.clock.now() else { return false }
    return samplePeer() == .idle
  }

  /// Watches for the first packet while it is armed. `came` is called at that packet.
  func watchPackets(_ came: @escaping () -> Void) {
    guard machine.state == .armed, !wantsNewSessions, let linkName else { return }
    watch.packets.watch(linkName, platform) { [weak self] in
      guard let self else { return }
      watch.packets.packetCame(at: platform.clock.now())
      abilities?.arming?.packetsCame(on: underlay)
      came()
    }
  }

  /// Whether the device shows the awaited answer.
  func isAnswered(by state: WireGuardState) -> Bool { machine.state.isAwaitingAnswer && abilities?.sessions?.isAnswered(by: state) == true }

  /// Handles the loss of its device. It has failed if no query can show whether the peer still answers.
  func loseDevice(on underlay: LinkFacts?) {
    let loss: TunnelMachine.Event =
      switch policy.provider {
      case .command(let command) where command.status.isEmpty:
        .failed(TunnelFailure(.linkGone, "its link \(command.interface ?? "") is gone"))
      case .installed: .failed(TunnelFailure(.linkGone, "its link \(linkName ?? "") is gone: another program removed it"))
      case .wireGuard, .command, .service: .deviceGone
      }
    handle(loss, on: underlay)
  }

  /// Kills what still runs.
  func cutShort() { abilities?.cuttable?.cutShort() }

  /// Takes in new facts of the same underlay.
  func learn(_ underlay: LinkFacts?) {
    self.underlay = underlay
    abilities?.roaming?.learn(underlay)
  }

  func askAgain() { if machine.state.isAwaitingAnswer { abilities?.polled?.askAgain() } }

  private func becomeSuccessor() {
    guard let next = replacement.next, machine.state == .disconnected, isTornDown else { return }
    policy = next
    replacement.end()
    // Failures and waits were those of the previous tunnel.
    machine = policy.provider.machine
    makeDriver()
  }

  private func makeDriver() {
    let outlets = DriverOutlets(
      report: { [weak self] event in
        guard let self else { return }
        handle(event, on: underlay)
      }, changed: surroundings.changed,
      publish: { [weak self] news in
        guard let self else { return }
        surroundings.publish(policy.name, news)
      },
      cause: { [weak self] in self.map { $0.cause } ?? .stopping },
      outerWay: { [weak self] in self.flatMap { $0.surroundings.outerWay($0.policy) } }, places: surroundings.places,
      takePassword: surroundings.takePassword, ownAddresses: surroundings.ownAddresses)
    abilities = DriverAbilities(
      policy.provider.driver(
        of: { [weak self, policy] in self?.policy ?? policy }, named: policy.name, platform: platform, outlets: outlets))
  }

  /// The reason why it leaves its state: the failure, or the reason of rules and people.
  private var cause: ReasonCode {
    if case .backingOff = machine.state, let failure = machine.failure { return failure.code }
    return replacement.isPending ? .policyLoaded : surroundings.cause(self)
  }
}

extension TunnelMachine.State {
  /// When the wait for an answer of the peer ends; `nil`: none is awaited, or without a limit.
  fileprivate var answerDeadline: Moment? {
    switch self {
    case .awaitingPeer(_, let deadline), .called(let deadline): deadline
    case .reasserting(let deadline): deadline
    default: nil
    }
  }

  /// Whether the attempt to get an answer has ended without one.
  fileprivate var hasGivenUp: Bool {
    switch self {
    case .backingOff, .armed: true
    default: false
    }
  }
}
