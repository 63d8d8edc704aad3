internal import NetworkTypes
internal import RoamwardCore

/// Drives one tunnel's machine: carries out its effects through the world, and hands it what comes of them.
///
/// Every asynchronous answer carries the generation in which it was asked for; one from an older life of the tunnel is dropped.
final class TunnelSupervisor {
  private(set) var policy: TunnelPolicy
  let slot: UInt32
  private(set) var machine = TunnelMachine()
  private(set) var stateSince: Int64
  /// The device with its endpoints resolved, once prepared.
  private(set) var device: WireGuardDevice?
  /// What the command's program has been asked for and not yet undone.
  private var isCommandStarted = false
  private var isReleasing = false
  private var generation = 0
  private var lookups: [AnyObject] = []
  private var lastAddresses: [DomainName: IPAddress] = [:]
  /// Peers are being given new sessions: until then a handshake is the last network's.
  private var isRenewing = false
  /// The command's `status` said "not yet" and is to be asked again.
  private var isStatusDue = false
  private let world: World
  /// The underlay that names are resolved on, and the one on which they were.
  private var underlay: LinkFacts?
  private var preparedOn: LinkFacts?
  /// A changed policy with another provider: it takes the old one's place when the tunnel is down.
  private var successor: TunnelPolicy?
  private let changed: () -> Void

  /// `changed` is called when an asynchronous answer has moved the machine: a pass is due.
  init(policy: TunnelPolicy, slot: UInt32, world: World, changed: @escaping () -> Void) {
    self.policy = policy
    self.slot = slot
    self.world = world
    self.changed = changed
    stateSince = world.wallClock()
  }

  var linkName: String? {
    switch policy.provider {
    case .wireGuard: TunnelSetup.linkName(forTunnel: policy.name)
    case .command(let command): command.interface
    }
  }

  /// How the tunnel stands towards the kernel. While the other side has not answered, peers are asked to keep talking, so that they begin.
  var setup: TunnelSetup {
    var device = DesiredLink.Device.foreign
    if var wireGuard = self.device {
      if machine.state.isAwaitingAnswer {
        for i in wireGuard.peers.indices where wireGuard.peers[i].persistentKeepalive == 0 { wireGuard.peers[i].persistentKeepalive = 5 }
      }
      device = .wireGuard(wireGuard)
    }
    // Without a device there is nothing to make yet.
    let level = self.device == nil && policy.provider.isWireGuard ? .nothing : machine.level
    return TunnelSetup(policy: policy, level: level, slot: slot, link: linkName, device: device)
  }

  /// Takes a changed policy. Settings follow by themselves; another provider means another tunnel, which starts anew.
  func update(_ policy: TunnelPolicy) {
    if machine.state == .disconnected || policy.provider == self.policy.provider {
      self.policy = policy
      successor = nil
    } else {
      successor = policy
    }
  }

  /// What rules and operator want, unless the tunnel has to go down first to become another.
  func want(_ intent: Intent, on underlay: LinkFacts?) {
    if let next = successor {
      guard machine.state == .disconnected, isReleased else { return handle(.want(false), on: underlay) }
      policy = next
      successor = nil
    }
    switch intent {
    case .up: handle(.want(true), on: underlay)
    case .down: handle(.want(false), on: underlay)
    case .unchanged: break
    }
  }

  func handle(_ event: TunnelMachine.Event, on underlay: LinkFacts?) {
    self.underlay = underlay
    let before = machine.state
    let effects = machine.handle(event, at: world.now())
    if machine.state.status != before.status { stateSince = world.wallClock() }
    for effect in effects {
      switch effect {
      case .prepare: prepare()
      case .probePeer: probePeer()
      case .release: release()
      }
    }
  }

  /// Tells the machine what the kernel shows of a WireGuard peer.
  func hear(_ state: WireGuardState?) {
    guard machine.state.isAwaitingAnswer, !isRenewing, state?.lastHandshake != nil else { return }
    handle(.peerAnswered, on: underlay)
  }

  /// Whether nothing is left to end: no program runs that was started.
  var isReleased: Bool { !isCommandStarted && !isReleasing }

  private func prepare() {
    generation += 1
    lookups = []
    switch policy.provider {
    case .wireGuard(let provider): prepare(provider.configuration)
    case .command(let command):
      isCommandStarted = true
      world.journal.noteCommand(policy.name, command)
      run(.up, command) { [weak self] in self?.answer($0, success: .prepared) }
    }
  }

  private func probePeer() {
    switch policy.provider {
    case .wireGuard(let provider):
      if let underlay, underlay != preparedOn { renew(provider.configuration) }
    case .command(let command):
      guard !command.status.isEmpty else {
        handle(.peerAnswered, on: underlay)
        return
      }
      run(.status, command) { [weak self] outcome in self?.heardStatus(outcome) }
    }
  }

  private func release() {
    generation += 1
    lookups = []
    isRenewing = false
    isStatusDue = false
    device = nil
    if case .command(let command) = policy.provider, isCommandStarted, !isReleasing {
      isReleasing = true
      world.run(.down, policy.name, command) { [weak self] _ in
        guard let self else { return }
        isReleasing = false
        isCommandStarted = false
        world.journal.forgetCommand(policy.name)
        changed()
      }
    }
  }

  // MARK: WireGuard

  private func prepare(_ configuration: WireGuardQuickConfiguration) {
    switch world.wireGuardEngine() {
    case .none(let reason): fail(reason)
    case .engine(let engine):
      resolveEndpoints(configuration) { [weak self] peers in
        guard let self else { return }
        preparedOn = underlay
        device = WireGuardDevice(
          engine: engine, privateKey: configuration.privateKey, publicKey: configuration.publicKey, listenPort: configuration.listenPort,
          peers: peers)
        handle(.prepared, on: underlay)
        changed()
      }
    }
  }

  /// On another network: resolves again, and gives every peer a new session there.
  private func renew(_ configuration: WireGuardQuickConfiguration) {
    generation += 1
    isRenewing = true
    resolveEndpoints(configuration) { [weak self] peers in
      guard let self, var device, let link = linkName else { return }
      device.peers = peers
      self.device = device
      preparedOn = underlay
      isRenewing = false
      if case .wireGuard(let asked) = setup.device, let failure = world.renewSessions(link, asked) { fail(failure) }
      changed()
    }
  }

  /// Turns names into addresses, all of them before it goes on. A name that does not resolve keeps the address that it last had; without
  /// one it fails the attempt with its reason.
  private func resolveEndpoints(_ configuration: WireGuardQuickConfiguration, then done: @escaping ([WireGuardPeer]) -> Void) {
    let asked = generation
    var peers = configuration.peers
    var open = 0
    var isStarted = false
    for i in peers.indices {
      guard let endpoint = peers[i].endpoint, case .name(let name) = endpoint.host else { continue }
      open += 1
      let lookup = world.resolve(name, underlay?.dnsServers.value ?? [], underlay?.name) { [weak self] resolution in
        guard let self, generation == asked else { return }
        switch resolution {
        case .addresses(let addresses):
          guard let address = preferred(addresses) else { return fail("the endpoint \(name) has no address") }
          peers[i].endpoint = Endpoint(host: .address(address), port: endpoint.port)
          lastAddresses[name] = address
        case .failed(let reason):
          guard let address = lastAddresses[name] else { return fail("the endpoint \(name) cannot be resolved: \(reason)") }
          peers[i].endpoint = Endpoint(host: .address(address), port: endpoint.port)
        }
        open -= 1
        if open == 0, isStarted { done(peers) }
      }
      if let lookup { lookups.append(lookup) }
    }
    isStarted = true
    if open == 0 { done(peers) }
  }

  /// The first address of a family that the underlay has a gateway for.
  private func preferred(_ addresses: [IPAddress]) -> IPAddress? {
    let families = Set(underlay?.gateways.map(\.family) ?? [])
    return addresses.first { families.contains($0.family) } ?? addresses.first
  }

  // MARK: Commands

  private func run(_ action: CommandAction, _ command: CommandProviderConfiguration, then done: @escaping (CommandOutcome) -> Void) {
    let asked = generation
    world.run(action, policy.name, command) { [weak self] outcome in
      guard let self, generation == asked else { return }
      done(outcome)
    }
  }

  private func answer(_ outcome: CommandOutcome, success: TunnelMachine.Event) {
    switch outcome {
    case .succeeded: handle(success, on: underlay)
    case .failed(let reason): handle(.failed(because: reason), on: underlay)
    }
    changed()
  }

  /// Not connected yet is no failure: it is asked again when the next tick comes, until the machine's deadline.
  private func heardStatus(_ outcome: CommandOutcome) {
    isStatusDue = outcome != .succeeded
    if outcome == .succeeded { handle(.peerAnswered, on: underlay) }
    changed()
  }

  /// Asks the command's `status` again; called from time to time while an answer is awaited.
  func askAgain() {
    guard isStatusDue, machine.state.isAwaitingAnswer else { return }
    isStatusDue = false
    probePeer()
  }

  private func fail(_ reason: String) {
    handle(.failed(because: reason), on: underlay)
    changed()
  }
}

extension ProviderConfiguration {
  var isWireGuard: Bool { if case .wireGuard = self { true } else { false } }
}
