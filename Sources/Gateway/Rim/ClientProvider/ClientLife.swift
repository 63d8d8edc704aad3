internal import Lives
internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol

/// The life of a client of a gateway, without IO: events and times go in, effects come out.
///
/// A run logs in if no login is kept, has the agent apply the settings while the engine gets the device, then seeks the gateway. Only a
/// gateway that does not answer is asked for another login.
struct ClientLife {
  enum Phase {
    /// There is no run.
    case idle
    /// A login is under way. `hasEngine`: the engine runs, because the gateway was sought before.
    case signingIn(hasEngine: Bool)
    /// The agent applies the settings, and the engine gets the device.
    case preparing(Preparation)
    /// The engine runs with settings in force.
    case linked(GatewayLink)
  }

  struct Preparation {
    /// The request for the settings.
    let attempt: LifeToken
    let grant: LoginGrant
    var missing: Missing
  }

  enum Missing {
    case both, engine, settings
  }

  private(set) var phase = Phase.idle
  private(set) var run = ClientRun()

  /// Takes an event, and returns its effects in their order. Events that belong to an earlier attempt or phase have none.
  mutating func take(_ event: ClientEvent, at now: Moment) -> [ClientEffect] {
    run.now = now
    switch event {
    case .start(let options, let login): start(options, login)
    case .stop: leave()
    case .failed(let failure): fail(failure)
    case .signedIn(let grant): signedIn(grant)
    case .engineStarted: engineStarted()
    case .applied(let attempt, let refused): applied(attempt, .success(refused), event)
    case .refused(let attempt, let refusal): applied(attempt, .failure(refusal), event)
    case .pushed(let push, _): if accepts({ $0.accept(push, from: $1) }) { pushed(push, event) }
    case .sessionEnded(let number): if accepts({ $0.accept(number, from: $1) }) { sessionEnded() }
    default: passOn(event)
    }
    defer { run.effects = [] }
    return run.effects
  }

  // MARK: The phase

  /// The link, while the engine runs with settings in force.
  var link: GatewayLink? { if case .linked(let link) = phase { link } else { nil } }

  /// Whether this is the search under way, or the one that has found the present way.
  func isPresent(_ attempt: LifeToken) -> Bool { link?.isPresent(attempt) ?? false }

  /// Whether the tunnel carries packets, as far as the agent knows.
  var isConnected: Bool { link?.standing == .connected }

  private var hasEngine: Bool {
    switch phase {
    case .idle: false
    case .signingIn(let hasEngine): hasEngine
    case .preparing(let preparation): preparation.missing == .settings
    case .linked: true
    }
  }

  // MARK: Beginnings and ends

  private mutating func start(_ options: ClientOptions, _ kept: ClientMemory.Login?) {
    // The agent may have ended the run before without a word.
    leave()
    run.start(options, kept)
    if run.login == nil { logIn(hasEngine: false) } else { prepare(hasEngine: false) }
  }

  private mutating func leave() {
    if case .idle = phase { return }
    phase = .idle
    run.choice.suspend()
    run.effect(.leave)
  }

  private mutating func fail(_ failure: TunnelFailure) {
    if case .idle = phase { return }
    leave()
    run.effect(.fail(failure))
  }

  private mutating func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help) {
    fail(TunnelFailure(code: code, text: text, help: help))
  }

  private mutating func logIn(hasEngine: Bool) {
    (phase, run.hasSignedIn) = (.signingIn(hasEngine: hasEngine), true)
    run.choice.suspend()
    run.effect(.logIn)
  }

  private mutating func signedIn(_ grant: LoginGrant) {
    guard case .signingIn(let hasEngine) = phase, let options = run.options else { return }
    guard Endpoint(grant.endpoint) != nil, !grant.addresses.isEmpty else {
      return fail("no-settings", "the gateway \(options.server) gives no address; ask its administrator", .person)
    }
    run.login = ClientMemory.Login(identity: options.identity, grant: grant)
    prepare(hasEngine: hasEngine)
    run.effect(.keep)
  }

  /// Asks the agent for the settings and the device at once: it makes the link with its addresses in one pass.
  private mutating func prepare(hasEngine: Bool) {
    run.updateSites()
    // Before the engine runs, the gateway that the policy names is used at once.
    if let wanted = run.choice.machine.wanted, let site = run.grant?.sites.first(where: { $0.key == wanted }) { run.use(site) }
    guard let grant = run.grant else { return }
    let attempt = LifeToken()
    phase = .preparing(Preparation(attempt: attempt, grant: grant, missing: hasEngine ? .settings : .both))
    run.effect(.apply(attempt, grant))
    if !hasEngine { run.effect(.openDevice) }
  }

  private mutating func engineStarted() {
    guard case .preparing(var preparation) = phase else { return }
    switch preparation.missing {
    case .both:
      preparation.missing = .settings
      phase = .preparing(preparation)
    case .engine: seek(preparation.grant)
    case .settings: break
    }
  }

  private mutating func applied(_ attempt: LifeToken, _ result: Result<[RefusedSetting], Refusal>, _ event: ClientEvent) {
    guard case .preparing(var preparation) = phase, preparation.attempt == attempt else { return passOn(event) }
    switch result {
    case .failure(let refusal): return fail(refusal.code, refusal.text, .time)
    case .success(let refused): run.report(refused)
    }
    switch preparation.missing {
    case .both:
      preparation.missing = .engine
      phase = .preparing(preparation)
    case .settings: seek(preparation.grant)
    case .engine: break
    }
  }

  /// The engine runs, and the link has its addresses.
  private mutating func seek(_ grant: LoginGrant) {
    run.effect(.listen(grant))
    var link = GatewayLink(inForce: grant)
    link.seek(&run)
    take(link)
  }

  private mutating func passOn(_ event: ClientEvent) {
    guard case .linked(var link) = phase else {
      if case .located(let key, let addresses) = event { run.choice.located(key, addresses, family: nil) }
      return
    }
    link.take(event, &run)
    take(link)
  }

  private mutating func take(_ link: GatewayLink) {
    phase = .linked(link)
    guard case .over(let end) = link.phase else { return }
    switch end {
    case .failed(let failure): fail(failure)
    case .unanswered: logIn(hasEngine: true)
    }
  }

  // MARK: Datagrams of the gateway

  /// Whether a number is above those before. Nothing is taken without an engine.
  private mutating func accepts(_ isAccepted: (inout PushNumbers, [UInt8]) -> Bool) -> Bool {
    guard hasEngine, let grant = run.grant else { return false }
    return isAccepted(&run.numbers, grant.gatewayKey)
  }

  private mutating func pushed(_ push: SettingsPush, _ event: ClientEvent) {
    if case .linked = phase { passOn(event) } else { _ = run.take(push) }
  }

  /// The next start has to log in.
  private mutating func sessionEnded() {
    let endpoint = run.grant?.endpoint ?? ""
    run.login = nil
    run.effect(.keep)
    fail("session-ended", "the gateway \(endpoint) has ended the session; it needs another login", .time)
  }

  // MARK: For people

  /// `udp` or `tcp`; `nil` while the gateway is sought.
  var transport: String? { link?.search?.transports.transport?.word }

  /// The reason for the transport and for the choice of the gateway, for people: 500 bytes at most.
  var transportReason: String { link?.transportReason(run) ?? "" }
}
