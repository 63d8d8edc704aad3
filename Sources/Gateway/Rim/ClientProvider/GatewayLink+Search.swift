internal import Lives
internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol

// The search for the gateway, and the watch of the one that is found.
extension GatewayLink {
  /// Looks for a transport by which the gateway answers a handshake, by another search than before. `end`: the moment at which
  /// a search that goes on for that long has failed.
  mutating func seek(until end: Moment? = nil, _ run: inout ClientRun) {
    guard let grant = run.grant, let endpoint = Endpoint(grant.endpoint), let options = run.options else { return }
    run.choice.suspend()
    if options.transport == .tcp, grant.relayPort == nil {
      return fail("no-relay", "the gateway \(endpoint) relays nothing by TCP; see `roamward-gateway set relay on` there", .person)
    }
    let (attempt, transports) = (LifeToken(), TransportMachine(options.transport, hasRelay: grant.relayPort != nil))
    phase = .search(search?.next(attempt, transports, until: end) ?? TransportSearch(attempt, transports, until: end))
    // A tunnel that was up carries nothing meanwhile: that is told, unless the gateway answers soon.
    if standing == .connected { run.effect(.wait(GatewayPatience.tell, .tell(attempt))) }
    switch endpoint.host {
    case .address(let address): begin([address], &run)
    case .name(let name):
      search?.transports.stop()
      run.effect(.resolve(attempt, name))
    }
  }

  mutating func unresolved(_ name: DomainName, _ refusal: Refusal, _ run: inout ClientRun) {
    if isReady { return silent(&run) }
    fail("unresolved", "\(name), the gateway's name, has no address: \(refusal.text); check the network", .time)
  }

  mutating func begin(_ addresses: [IPAddress], _ run: inout ClientRun) {
    guard let attempt = search?.attempt, let orders = search?.begin(addresses, at: run.now) else { return }
    perform(orders, &run)
    if isPresent(attempt) { waitForLook(attempt, &run) }
  }

  mutating func tell(_ run: inout ClientRun) {
    guard standing == .connected, let search, search.transports.transport == nil else { return }
    reassert("peer-timeout", "the gateway \(run.grant?.endpoint ?? "") does not answer on this network", &run)
    run.effect(.transport(search.trial))
  }

  // MARK: Looks at the engine

  /// The next look at the engine is soon while an answer is awaited.
  private func waitForLook(_ attempt: LifeToken, _ run: inout ClientRun) {
    guard let search else { return }
    let now = run.now
    let due = [search.transports.deadline, search.isByUDP ? run.choice.deadline : nil, settings.nextGreeting(after: now)].compactMap { $0 }
      .min()
    let isSought = search.transports.isAwaiting || search.transports.transport == nil
    let asked = search.asked.map { GatewayPatience.look(after: now - $0) } ?? GatewayPatience.look
    let (pause, least) = isSought ? (asked, Duration.milliseconds(1)) : (watch.pause(at: now), .milliseconds(10))
    run.effect(.wait(min(pause, max(least, due.map { $0 - now } ?? pause)), .look(attempt)))
  }

  mutating func look(_ sight: EngineSight?, _ attempt: LifeToken, _ run: inout ClientRun) {
    if let sight { judge(sight, attempt, &run) }
    if isPresent(attempt) { waitForLook(attempt, &run) }
  }

  private mutating func judge(_ sight: EngineSight, _ attempt: LifeToken, _ run: inout ClientRun) {
    let wasKnown = search?.transports.transport != nil
    let orders = search?.transports.look(.init(handshake: sight.reading.handshake, relayed: sight.relayed), at: run.now) ?? []
    perform(orders, reading: sight.reading, &run)
    guard isPresent(attempt), let search else { return }
    if search.transports.transport == nil, let end = search.until, run.now >= end { return seekAgain(&run) }
    guard wasKnown else { return }
    greet(sight.reading, &run)
    if watch.isSilent(sight.reading, at: run.now) { return lose(&run) }
    measure(sight, &run)
  }

  private mutating func greet(_ reading: EngineReading, _ run: inout ClientRun) {
    if let gateway = settings.greet(reading, at: run.now) { run.effect(.greet(gateway)) }
  }

  /// Data is not answered: that is told at once, before another transport, another gateway or a new session is sought.
  private mutating func lose(_ run: inout ClientRun) {
    let seconds = watch.silence(at: run.now).components.seconds
    reassert("peer-timeout", "the gateway \(run.grant?.endpoint ?? "") has not answered for \(seconds) s", &run)
    let end = run.now + GatewayPatience.loss
    search?.until = end
    guard let next = run.choice.died(at: run.now) else { return seek(until: end, &run) }
    change(to: next, "\(run.grant?.site?.name ?? "the gateway") does not answer", &run)
  }

  // MARK: Ways

  private mutating func perform(_ orders: [TransportMachine.Order], reading: EngineReading = EngineReading(), _ run: inout ClientRun) {
    guard let attempt = search?.attempt, let grant = run.grant, let port = Endpoint(grant.endpoint)?.port else { return }
    for order in orders where isPresent(attempt) {
      switch order {
      case .answered: answered(reading, &run)
      case .silent: silent(&run)
      default:
        let tells = standing != .connected
        run.effects += search?.perform(order, grant, port: port, tells: tells, at: run.now) ?? []
      }
    }
  }

  private mutating func answered(_ reading: EngineReading, _ run: inout ClientRun) {
    guard let grant = run.grant, let transport = search?.transports.transport else { return }
    search?.until = nil
    // The gateway ends relays that are silent.
    let keepalive = transport.word == "tcp" ? GatewayPatience.keepalive : grant.keepalive ?? 0
    if keepalive != GatewayPatience.keepalive { run.effect(.engine(.keepalive(grant.gatewayKey, keepalive))) }
    let text = transportReason(run)
    if isReady { run.log(.notice, "transport", text) }
    // The routes come with it: nothing is told or kept before.
    if standing != .connected {
      if settings.request != nil { settings.request?.isReadyDue = true } else { run.effect(.ready) }
    }
    run.effect(.transport(text))
    standing = .connected
    if var login = run.login, !login.isProven || login.silentStarts > 0 {
      (login.isProven, login.silentStarts) = (true, 0)
      run.login = login
      run.effect(.keep)
    }
    settings.greetAgain()
    greet(reading, &run)
    watch = PeerWatch(reading, keepalive: keepalive, at: run.now)
    siteAnswered(transport, &run)
    update(&run)
  }

  private mutating func siteAnswered(_ transport: TransportMachine.Transport, _ run: inout ClientRun) {
    run.updateSites()
    if useWanted(&run) { return }
    guard case .udp = transport, let grant = run.grant else { return run.choice.suspend() }
    watch.hasAlternative = run.choice.machine.hasOthers
    run.effects += run.choice.connected(grant, at: run.now)
  }

  /// By no transport there was an answer.
  private mutating func silent(_ run: inout ClientRun) {
    guard let grant = run.grant else { return }
    if tryNextSite(&run) { return }
    if isReady { return seekAgain(&run) }
    let words =
      grant.relayPort.map { "the gateway \(grant.endpoint) does not answer WireGuard, neither by UDP nor by TCP port \($0)" }
      ?? "the gateway \(grant.endpoint) does not answer WireGuard by UDP"
    let failure = search?.relayFailure ?? ""
    let causes = failure.isEmpty ? "" : " (\(failure))"
    if run.hasSignedIn { return fail("peer-timeout", "\(words)\(causes), though it takes logins; check the network's firewall", .time) }
    run.login?.silentStarts += 1
    run.effect(.keep)
    let isWorthIt = run.login.map { $0.isProven || $0.silentStarts > ClientMemory.patience } ?? true
    // A device that the gateway does not know any more is not told so by WireGuard: a login finds out.
    if isWorthIt { phase = .over(.unanswered) } else { fail("peer-timeout", "\(words)\(causes); check the network's firewall", .time) }
  }

  /// By no transport there was an answer of this gateway. Returns whether another one is sought.
  private mutating func tryNextSite(_ run: inout ClientRun) -> Bool {
    // A start has to be ready within a minute, or to ask for a login by then.
    if !isReady, run.now - run.began > GatewayPatience.loss { return false }
    let name = run.grant?.site?.name ?? "the gateway"
    guard let next = run.choice.silent(at: run.now) else { return false }
    change(to: next, "\(name) does not answer", &run)
    return true
  }

  /// A tunnel that was up looks on. After a while a new start finds out whether the gateway still knows the device.
  private mutating func seekAgain(_ run: inout ClientRun) {
    guard let search else { return }
    let (end, endpoint) = (search.until ?? run.now + GatewayPatience.loss, run.grant?.endpoint ?? "")
    guard run.now < end else { return fail("peer-timeout", "the gateway \(endpoint) does not answer any more", .time) }
    if search.until == nil { reassert("peer-timeout", "the gateway \(endpoint) does not answer", &run) }
    self.search?.until = end
    let rest = search.began.map { GatewayPatience.round - (run.now - $0) } ?? .zero
    run.effect(.wait(max(GatewayPatience.look, rest), .searchAgain(search.attempt)))
  }

  mutating func searchAgain(_ run: inout ClientRun) {
    run.choice.searchAgain()
    seek(until: search?.until, &run)
  }

  // MARK: The relay

  mutating func relayOpened(_ run: inout ClientRun) { perform(search?.transports.relayOpened(at: run.now) ?? [], &run) }

  mutating func relayEnded(_ reason: String, _ run: inout ClientRun) {
    search?.relayFailure = reason
    run.log(.notice, "transport", "the relay: \(reason)")
    // The tunnel was up by it: the other transports are tried, and after a while the run fails.
    if search?.transports.transport?.word == "tcp" { return seek(&run) }
    perform(search?.transports.relayFailed(at: run.now) ?? [], &run)
  }
}
