internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// Drives one tunnel's machine: its driver carries out the effects, and returns their results.
final class TunnelSupervisor {
  private(set) var policy: TunnelPolicy
  /// The tunnel's slot in the tables, unless it is down.
  private(set) var slot: UInt32 { didSet { if slot != oldValue { surroundings.reordered() } } }
  private(set) var machine: TunnelMachine
  /// The time at which the state, as people see it, was entered.
  private(set) var stateSince: Timestamp
  private var connectedSince: Timestamp
  private let platform: Platform
  private let surroundings: TunnelSurroundings
  private var abilities: DriverAbilities?
  private var underlay: LinkFacts?
  private var sampling = TunnelSampling()
  private var trials = EndpointTrials()
  /// The watch for the first packet while it is armed.
  private(set) var packets = PacketWatch()
  /// The reason that keeps it up until it is idle: a look-up, or the start before a rule watched look-ups.
  private(set) var lookup = LookupStart()
  /// The wish while it is down: nothing, or its device ready for a look-up.
  private var rest = TunnelMachine.Wish.down
  /// A changed policy with another provider: it takes over when the tunnel is down.
  private var successor: TunnelPolicy?
  /// The slot that the tunnel will have when it starts again with another provider, so that `plan` can name it.
  private var reservedSlot: UInt32?
  /// Whether it is wanted, and waits until the tunnel that it goes through is connected.
  private(set) var awaitsOuter = false
  /// Whether the outer tunnel was connected when this one last took that in.
  private var wasOuterOpen = true
  /// Whether it is to go down as soon as no tunnel goes through it.
  private(set) var isToEndAfterInner = false
  /// The intent for the tunnel while it goes down only to be replaced: one left as it is (`ignore`) comes up again.
  private var comeBack: Intent?

  init(policy: TunnelPolicy, platform: Platform, surroundings: TunnelSurroundings) {
    self.policy = policy
    self.surroundings = surroundings
    machine = policy.provider.machine
    slot = policy.slots.lowerBound
    self.platform = platform
    stateSince = platform.clock.wallClock()
    connectedSince = stateSince
    makeDriver()
  }

  var linkName: String? { policy.linkName }

  private var driver: (any TunnelDriver)? { abilities?.driver }

  var engineName: String { driver?.engineName ?? "" }

  /// Whether everything started has ended.
  var isReleased: Bool { driver?.isReleased ?? true }

  var isToBeReplaced: Bool { successor != nil }

  /// Whether rules or a person want it up, and nothing has wanted it down since.
  var isWanted: Bool { machine.isWanted || comeBack != nil || awaitsOuter }

  /// The tunnel as input of the desired state.
  var setup: TunnelSetup {
    let device = driver?.device(whileAwaiting: machine.state.isAwaitingAnswer)
    var setup = TunnelSetup(
      policy: policyInForce, level: device == nil ? .nothing : machine.level, slot: slot, link: linkName, device: device ?? .foreign)
    setup.renewsSessions = wantsNewSessions
    setup.isSilent = machine.isSilent
    setup.progress = lookup.isReleased ? .connected : machine.progress
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

  func advance() { abilities?.timed?.advance() }

  /// Whether its peers need new sessions.
  var wantsNewSessions: Bool { abilities?.sessions?.wantsNewSessions ?? false }

  /// Notes that they have new sessions, or that no device could have had others.
  func sessionsBegan() { abilities?.sessions?.sessionsBegan() }

  var standing: DesiredTunnels.Standing {
    var standing = DesiredTunnels.Standing(setup, isWanted: isWanted, isRunning: machine.isRunning)
    standing.reservedSlot = reservedSlot
    return standing
  }

  /// Takes a changed policy. Settings are applied by the next plan; another provider means another tunnel, which starts again.
  func update(_ policy: TunnelPolicy) {
    if policy.provider.isSameTunnel(as: self.policy.provider), policy.through?.name == self.policy.through?.name {
      let isSame = policy.isSameSetup(as: self.policy)
      self.policy = policy
      successor = nil
      if !isSame { handle(.settingsChanged, on: underlay) }
    } else {
      if successor != policy { reservedSlot = nil }
      successor = policy
      becomeSuccessor()
    }
  }

  /// Reserves the slot of a successor that comes up: its own one if it may have it.
  private func reserveSlot(_ used: @autoclosure () -> Set<UInt32>) {
    guard let successor, comeBack != nil else { return reservedSlot = nil }
    if reservedSlot == nil { reservedSlot = TunnelSetup.freeSlot(for: successor, used: used().subtracting([slot]), keeping: slot) }
  }

  /// Applies the intent of rules and operator, unless the tunnel has to go down first to be replaced. A starting tunnel takes a slot that
  /// is not `used`. `isReady`: while it is down, its device is to be ready; `nil`: as before.
  func want(
    _ intent: Intent, isReady: Bool? = nil, on underlay: LinkFacts?, usedSlots used: @autoclosure () -> Set<UInt32> = []
  ) {
    if let isReady { rest = isReady ? .ready : .down }
    becomeSuccessor()
    if successor != nil {
      switch intent {
      case .up, .armed: comeBack = intent
      case .down: comeBack = nil
      case .watched, .unchanged: if machine.isWanted { comeBack = machine.wish == .armed ? .armed : .up }
      }
      reserveSlot(used())
      return handle(.want(.down), on: underlay)
    }
    let intent = lookup.take(intent == .unchanged ? comeBack ?? intent : intent, isWanted: machine.wish == .up, at: platform.clock.now())
    comeBack = nil
    // Another class needs another slot among the rules at once. Other prefixes may need one from the next start on.
    let isMisplaced = !policy.slotsOfClass.contains(slot)
    if machine.isRunning ? isMisplaced : [.up, .armed].contains(intent) || intent == .down && rest == .ready {
      slot = reservedSlot ?? TunnelSetup.freeSlot(for: policy, used: used())
      reservedSlot = nil
    }
    let isDue = intent == .up || intent == .unchanged && awaitsOuter
    if !machine.isRunning { wasOuterOpen = surroundings.outerWay(policy).isOpen }
    awaitsOuter = isDue && !machine.isRunning && !wasOuterOpen
    isToEndAfterInner = false
    switch isDue ? .up : intent {
    case .up where awaitsOuter: break
    case .up: handle(.want(.up), on: underlay)
    case .armed: handle(.want(.armed), on: underlay)
    case .down: handle(.want(rest), on: underlay)
    case .watched, .unchanged:
      // A changed policy may have taken the permission to be armed, and another rule watches no look-ups.
      let isOver = machine.wish == .armed && policy.armingObstacle != nil || machine.wish == .ready && rest == .down
      if isOver { handle(.want(rest), on: underlay) }
    }
  }

  /// Leaves it as it is until no tunnel goes through it: then it is to go down.
  func endAfterInner(on underlay: LinkFacts?) {
    want(.unchanged, on: underlay)
    isToEndAfterInner = true
  }

  /// The change of the outer tunnel since the last call, as a change of the underlay.
  func takeOuterNews() -> TunnelMachine.Event? {
    let isOpen = surroundings.outerWay(policy).isOpen
    defer { wasOuterOpen = isOpen }
    guard machine.isRunning, isOpen != wasOuterOpen else { return nil }
    return isOpen ? .underlayChanged : .underlayLost
  }

  /// Whether it can carry nothing, because the outer tunnel does not.
  var isOuterLost: Bool { policy.through != nil && (awaitsOuter || machine.isRunning && !wasOuterOpen) }

  /// Whether it has not taken in a change of its outer tunnel yet.
  var isBehindOuterTunnel: Bool {
    guard policy.through != nil else { return false }
    let isOpen = surroundings.outerWay(policy).isOpen
    return awaitsOuter && isOpen || machine.isRunning && isOpen != wasOuterOpen
  }

  /// All steps of its start were made: its names can be asked for before the observation that verifies them (docs/decisions/0053).
  func releaseLookups() { lookup.release() }

  func handle(_ event: TunnelMachine.Event, on underlay: LinkFacts?) {
    self.underlay = underlay
    let (before, status) = (machine.state, machine.status)
    let now = platform.clock.now()
    let event = isIdleInstead(of: event) ? .idle : event == .tick ? knownReason(at: now) ?? event : event
    let effects = machine.handle(lookup.turn(event, in: machine.state, rest: rest, at: now), at: now)
    lookup.follow(machine.state)
    noteTime(before, status)
    if event == .applied { abilities?.settings?.applied() }
    if event == .tick, before.isAwaitingAnswer, machine.state.hasGivenUp { abilities?.sessions?.noteAnswer(false) }
    if machine.state != before { sampling.stateChanged() }
    if !endsWhenIdle { sampling.endMeasuring() }
    if machine.state != .armed { packets = PacketWatch() }
    carryOut(effects, on: underlay)
  }

  /// The failure of a tunnel whose peer has not answered on this network in time, if this machine knows why.
  private func knownReason(at now: Moment) -> TunnelMachine.Event? {
    guard let deadline = machine.state.answerDeadline, deadline <= now else { return nil }
    return surroundings.obstacle(self, true).map { .failed($0) }
  }

  /// Whether the endpoints are to be tried now.
  var isTrialDue: Bool { machine.state.answerDeadline.map { trials.isDue(at: platform.clock.now(), until: $0) } ?? false }

  /// The obstacle to all its endpoints while their answer is awaited; `nil`: one may be reached. `isOver`: the wait has ended.
  func tryEndpoints(isOver: Bool) -> TunnelFailure? {
    guard let deadline = machine.state.answerDeadline, let abilities else { return nil }
    return trials.obstacle(to: abilities.ports?.endpoints ?? [], until: deadline, isOver: isOver, at: platform.clock.now()) {
      platform.network.tryEndpoint($0, $1, Ownership.mark)
    }
  }

  private func carryOut(_ effects: [TunnelMachine.Effect], on underlay: LinkFacts?) {
    for effect in effects { abilities?.carryOut(effect, on: underlay) }
  }

  /// Whether the next agent may take the tunnel over; otherwise it has to be taken down before this agent ends.
  var mayBeHandedOver: Bool { successor == nil && machine.isWanted && machine.state.isUp && !awaitsOuter }

  /// Leaves the tunnel to the next agent. Returns what that needs; `nil`: it has to be taken down.
  func handOver() -> HandOver.Tunnel? {
    guard mayBeHandedOver, let left = driver?.handOver() else { return nil }
    return HandOver.Tunnel(
      slot: slot, connectedSince: connectedSince, link: linkName, outer: policy.through?.name, provider: left.provider)
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
    wasOuterOpen = surroundings.outerWay(policy).isOpen
    let effects = machine.takeOver(hasNetwork: underlay != nil && wasOuterOpen, at: platform.clock.now())
    noteTime(before, status)
    connectedSince = noted.connectedSince
    carryOut(effects, on: underlay)
  }

  /// A program has looked up one of its names: it comes up, until it is idle. Returns whether that starts it.
  func lookUp(_ look: NameLookup, on underlay: LinkFacts?, usedSlots used: @autoclosure () -> Set<UInt32>) -> Bool {
    let isStart = lookup.note(look, isUp: machine.wish == .up, at: platform.clock.now())
    if isStart { want(lookup.standing, on: underlay, usedSlots: used()) }
    return isStart
  }

  /// Whether it ends after the idle time: its session, if it was armed, or all of it.
  private var endsWhenIdle: Bool { machine.endsWhenIdle || lookup.endsWhenIdle(policy) && machine.state.isUp }

  /// A tunnel that reconnects on another network counts as connected all along.
  private func noteTime(_ before: TunnelMachine.State, _ status: String) {
    guard machine.status != status else { return }
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
    if machine.state == .armed, !wantsNewSessions, state?.isStirred == true { handle(.called, on: underlay) }
    guard machine.state.isAwaitingAnswer, abilities?.sessions?.isAnswered(by: state) == true else { return }
    abilities?.sessions?.noteAnswer(true)
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

  /// The time of the next sample of its device; `nil`: none.
  var nextSample: Moment? { [sampling.nextSample, idleEnd, lookup.end(in: machine.state), ownSample].compactMap { $0 }.min() }

  /// When its driver takes a sample of its own.
  private var ownSample: Moment? { machine.state.isUp ? abilities?.sampling?.nextSample : nil }

  /// Samples whether the peer still answers, and whether data flows. Returns the event if the tunnel is to be doubted, or is idle.
  func samplePeer() -> TunnelMachine.Event? {
    if let end = lookup.end(in: machine.state), end <= platform.clock.now() { return .idle }
    let now = platform.clock.now()
    if let due = ownSample, due <= now, let event = abilities?.sampling?.sample() { return event }
    if sampling.measuresLink, let packets = linkPackets {
      sampling.take(packets: packets, at: now)
      if let idleEnd, idleEnd <= now { return .idle }
    }
    guard machine.state == .connected || sampling.measuresDevice, let device = abilities?.sessions?.readDevice() else { return nil }
    sampling.measure(device, at: now)
    if let idleEnd, idleEnd <= now { return .idle }
    guard machine.state == .connected else { return nil }
    return sampling.judge(device, at: now).map { .peerSilent(for: $0) }
  }

  /// Begins to sample it, if its device shows whether the peer answers.
  func beginSampling() {
    guard machine.state == .connected else { return }
    let now = platform.clock.now()
    if endsWhenIdle, !sampling.measuresLink, let packets = linkPackets { sampling.begin(packets: packets, at: now) }
    guard sampling.isToBegin(endsWhenIdle: endsWhenIdle), let device = abilities?.sessions?.readDevice() else { return }
    sampling.begin(device, endsWhenIdle: endsWhenIdle, at: now)
  }

  /// When its session ends, unless data flows before.
  private var idleEnd: Moment? { sampling.activeAt.map { $0 + policy.idleInForce } }

  /// The packets that its link has carried; `nil`: it is a WireGuard device, or there is no link.
  private var linkPackets: UInt64? {
    guard !policy.provider.isWireGuard, let counts = linkName.flatMap(platform.machine.countPackets) else { return nil }
    return counts.received &+ counts.sent
  }

  /// Whether its time is over, so that another network, or the end of a sleep, is no reason to ask the peer.
  private func isIdleInstead(of event: TunnelMachine.Event) -> Bool {
    guard [.underlayChanged, .slept].contains(event), let idleEnd, idleEnd <= platform.clock.now() else { return false }
    return samplePeer() == .idle
  }

  /// Watches for the first packet while it is armed. `came` is called at that packet.
  func watchPackets(_ came: @escaping () -> Void) {
    guard machine.state == .armed, !wantsNewSessions, let linkName else { return }
    packets.watch(linkName, platform) { [weak self] in
      guard let self else { return }
      packets.packetCame(at: platform.clock.now())
      abilities?.arming?.packetsCame(on: underlay)
      came()
    }
  }

  /// Whether the device shows the awaited answer.
  func isAnswered(by state: WireGuardState) -> Bool { machine.state.isAwaitingAnswer && abilities?.sessions?.isAnswered(by: state) == true }

  /// Handles the loss of its device. It has failed if no query can show whether the peer still answers.
  func loseDevice(on underlay: LinkFacts?) {
    if case .command(let command) = policy.provider, command.status.isEmpty {
      handle(.failed(TunnelFailure(.linkGone, "its link \(command.interface ?? "") is gone")), on: underlay)
    } else if case .installed = policy.provider {
      handle(.failed(TunnelFailure(.linkGone, "its link \(linkName ?? "") is gone: another program removed it")), on: underlay)
    } else {
      handle(.deviceGone, on: underlay)
    }
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
    guard let next = successor, machine.state == .disconnected, isReleased else { return }
    policy = next
    successor = nil
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
      ownAddresses: surroundings.ownAddresses)
    abilities = DriverAbilities(
      policy.provider.driver(
        of: { [weak self, policy] in self?.policy ?? policy }, named: policy.name, platform: platform, outlets: outlets))
  }

  /// The reason why it leaves its state: the failure, or the reason of rules and people.
  private var cause: ReasonCode {
    if case .backingOff = machine.state, let failure = machine.failure { return failure.code }
    return successor == nil ? surroundings.cause(self) : .policyLoaded
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
