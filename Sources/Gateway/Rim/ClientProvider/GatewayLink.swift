internal import Lives
internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol

/// The link to a gateway while the engine runs: the settings in force, and the search for its transport.
struct GatewayLink {
  /// The knowledge of the agent.
  enum Standing {
    /// The gateway has not answered in this run.
    case starting
    /// The tunnel carries packets: a short search is not told.
    case connected
    /// The tunnel carries nothing.
    case lost
  }

  enum Phase {
    /// It is not sought: there is no network.
    case none
    /// It is sought once settings of another gateway are in force. `until`: the moment at which that has failed.
    case moving(until: Moment?)
    /// It is sought, or known.
    case search(TransportSearch)
    /// The link has ended.
    case over(End)
  }

  enum End {
    case failed(TunnelFailure)
    /// The gateway has never answered: a login finds out whether it knows the device.
    case unanswered
  }

  var standing = Standing.starting
  var settings: LiveSettings
  var phase = Phase.none
  /// Whether the gateway that has answered still does.
  var watch = PeerWatch()

  init(inForce: LoginGrant) { settings = LiveSettings(inForce: inForce) }

  mutating func take(_ event: ClientEvent, _ run: inout ClientRun) {
    switch event {
    case .network(let isThere): networkChanged(isThere: isThere, &run)
    case .wake: if isReady { seek(&run) }
    case .applied(let attempt, let refused): finish(attempt, .success(refused), &run)
    case .refused(let attempt, let refusal): finish(attempt, .failure(refusal), &run)
    case .pushed(let push, let bytes): pushed(push, bytes, &run)
    case .located(let key, let addresses): run.choice.located(key, addresses, family: search?.family)
    case .resolved(let attempt, let addresses): if isPresent(attempt) { begin(Array(addresses.prefix(GatewayPatience.addresses)), &run) }
    case .unresolved(let attempt, let name, let refusal): if isPresent(attempt) { unresolved(name, refusal, &run) }
    case .look(let attempt): if isPresent(attempt) { run.effect(.read(attempt)) }
    case .read(let attempt, let sight): if isPresent(attempt) { look(sight, attempt, &run) }
    case .relayOpened(let attempt): if isPresent(attempt) { relayOpened(&run) }
    case .relayEnded(let attempt, let reason): if isPresent(attempt) { relayEnded(reason, &run) }
    case .tell(let attempt): if isPresent(attempt) { tell(&run) }
    case .searchAgain(let attempt): if isPresent(attempt) { searchAgain(&run) }
    case .start, .stop, .failed, .signedIn, .engineStarted, .sessionEnded: break
    }
  }

  // MARK: The phase

  var search: TransportSearch? {
    get { if case .search(let search) = phase { search } else { nil } }
    set { if let newValue { phase = .search(newValue) } }
  }

  /// Whether this is the search under way, or the one that has found the present transport.
  func isPresent(_ attempt: LifeToken) -> Bool { search?.attempt == attempt }

  /// Whether the gateway has answered in this run.
  var isReady: Bool { standing != .starting }

  mutating func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help) {
    phase = .over(.failed(TunnelFailure(code: code, text: text, help: help)))
  }

  /// The tunnel carries nothing for now: that is told.
  mutating func reassert(_ code: Word, _ text: String, _ run: inout ClientRun) {
    guard isReady else { return }
    standing = .lost
    settings.request?.isReadyDue = false
    run.effects += [.transport(""), .reassert(code, text)]
  }

  private mutating func networkChanged(isThere: Bool, _ run: inout ClientRun) {
    guard isReady else { return }
    if isThere {
      run.choice.forget()
      return seek(&run)
    }
    phase = .none
    run.choice.suspend()
    run.effect(.closeRelay)
    reassert("no-network", "there is no network", &run)
  }

  // MARK: Settings

  /// Has the agent apply settings: one request at a time.
  private mutating func request(_ grant: LoginGrant, isReadyDue: Bool = false, _ run: inout ClientRun) {
    let attempt = LifeToken()
    settings.request = .init(attempt: attempt, grant: grant, isReadyDue: isReadyDue)
    run.effect(.apply(attempt, grant))
  }

  /// Has the agent apply what the gateway has changed. The engine goes on, and so do flows that the change does not touch.
  mutating func update(_ run: inout ClientRun) {
    if case .over = phase { return }
    guard isReady, settings.request == nil, let grant = run.grant, grant != settings.inForce else { return }
    request(grant, &run)
  }

  private mutating func finish(_ attempt: LifeToken, _ result: Result<[RefusedSetting], Refusal>, _ run: inout ClientRun) {
    guard let request = settings.request, request.attempt == attempt, let wanted = run.grant else { return }
    let (old, new) = (settings.inForce, request.grant)
    let isMove = new.gatewayKey != old.gatewayKey
    settings.finish(request)
    // Another gateway meanwhile.
    guard wanted.gatewayKey == new.gatewayKey else { return self.request(wanted, isReadyDue: request.isReadyDue, &run) }
    switch result {
    case .success(let refused): run.report(refused)
    case .failure(let refusal) where isMove: return fail(refusal.code, refusal.text, .time)
    case .failure(let refusal): run.log(.warning, "settings", "the changed ones are not in force: \(refusal.text)")
    }
    if request.isReadyDue { run.effect(.ready) }
    if isMove || new.addresses.first != old.addresses.first { run.effect(.listen(new)) }
    if case .moving(let until) = phase {
      seek(until: until, &run)
    } else if !isMove {
      follow(new, insteadOf: old, &run)
    }
    update(&run)
  }

  /// Applies changes of the endpoint and the keepalive.
  private mutating func follow(_ grant: LoginGrant, insteadOf old: LoginGrant, _ run: inout ClientRun) {
    if grant.endpoint != old.endpoint { return seek(&run) }
    // A relay keeps its own, because the gateway ends those that are silent.
    if grant.keepalive != old.keepalive, search?.transports.transport?.word != "tcp" {
      run.effect(.engine(.keepalive(grant.gatewayKey, grant.keepalive ?? 0)))
    }
  }

  private mutating func pushed(_ push: SettingsPush, _ bytes: Int, _ run: inout ClientRun) {
    settings.disregard(bytes: bytes)
    let before = run.choice.machine.text
    guard run.take(push) else { return }
    if standing == .connected, run.choice.machine.text != before { run.effect(.transport(transportReason(run))) }
    update(&run)
  }

  // MARK: Several gateways

  /// Changes over to another gateway: other addresses, another peer, no login. The tunnel stays, and carries nothing meanwhile.
  mutating func change(to key: [UInt8], _ reason: String, _ run: inout ClientRun) {
    guard let site = run.grant?.sites.first(where: { $0.key == key }) else { return }
    phase = .moving(until: search?.until)
    run.choice.suspend()
    run.effect(.closeRelay)
    run.use(site)
    run.log(.notice, "gateway", "to \(site.name): \(reason)")
    reassert("gateway-changed", "to the gateway \(site.name): \(reason)", &run)
    if settings.request == nil, let grant = run.grant { request(grant, &run) }
  }

  /// The policy names another one, which a push may have made known.
  mutating func useWanted(_ run: inout ClientRun) -> Bool {
    guard let wanted = run.choice.machine.wanted else { return false }
    change(to: wanted, "the policy wants it", &run)
    return true
  }

  /// Measures the round trips to all gateways, now and then.
  mutating func measure(_ sight: EngineSight, _ run: inout ClientRun) {
    if useWanted(&run) { return }
    guard case .udp(let address)? = search?.transports.transport, let grant = run.grant else { return }
    watch.hasAlternative = run.choice.machine.hasOthers
    let (outcome, effects) = run.choice.look(sight, grant, by: address, isSuspicious: watch.isSuspicious, at: run.now)
    run.effects += effects
    switch outcome {
    case .nothing: break
    case .measured: if standing == .connected { run.effect(.transport(transportReason(run))) }
    case .change(let next): change(to: next, "another gateway is nearer", &run)
    }
  }

  /// The reason for the transport and for the choice of the gateway, for people: 500 bytes at most.
  func transportReason(_ run: ClientRun) -> String {
    guard let grant = run.grant else { return "" }
    let (transport, site) = (search?.text(grant, run.options?.transport) ?? "", run.choice.machine.text)
    // The protocol takes 512 bytes.
    return String(decoding: (site.isEmpty ? transport : "\(transport); \(site)").utf8.prefix(500), as: UTF8.self)
  }
}
