internal import JSON
internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardProvider

// The way to the gateway.
extension GatewayClient {
  /// Looks for a way in which the gateway answers a handshake. `end`: the moment at which a search that goes on for that long has failed.
  func seek(isLater: Bool, until end: Moment? = nil) {
    guard let grant = memory?.login?.grant, let endpoint = Endpoint(grant.endpoint), let options else { return }
    seeking.number += 1
    let number = seeking.number
    suspendSites()
    (seeking.isLater, seeking.end) = (isLater, end)
    if options.transport == .tcp, grant.relayPort == nil {
      return fail("no-relay", "the gateway \(endpoint) relays nothing by TCP; see `roamward-gateway relay enable` there", .person)
    }
    let ways = WayMachine(options.transport, hasRelay: grant.relayPort != nil)
    // A later search keeps its knowledge of the ways, unless none was found, or the gateway has begun or ceased to relay meanwhile.
    if !isLater || seeking.ways.way == nil || seeking.ways.hasRelay != ways.hasRelay { seeking.ways = ways }
    if isLater { tellSearch(number, endpoint) }
    switch endpoint.host {
    case .address(let address): begin([address], number)
    case .name(let name):
      seeking.ways.stop()
      host.resolve(name) { [weak self] result in
        guard let self, seeking.number == number else { return }
        switch result {
        case .success(let addresses): begin(Array(addresses.prefix(GatewayPatience.addresses)), number)
        case .failure(let refusal):
          if isLater { return silent() }
          fail("unresolved", "\(name), the gateway's name, has no address: \(refusal.text); check the network", .time)
        }
      }
    }
  }

  /// A tunnel that was up carries nothing while the gateway is sought: that is said, unless it answers soon.
  private func tellSearch(_ number: Int, _ endpoint: Endpoint) {
    guard isReady, !isReasserting else { return }
    host.after(GatewayPatience.tell) { [weak self] in
      guard let self, seeking.number == number, seeking.ways.way == nil, isReady, !isReasserting else { return }
      reassert("peer-timeout", "the gateway \(endpoint) does not answer on this network")
      tellAttempt()
    }
  }

  /// The way that is tried now, for people.
  private func tellAttempt() { if isReasserting || !isReady { host.transport(seeking.attempt) } }

  /// Data is not answered: that is said at once, before another way, another gateway or a new session is sought.
  private func lose(after silence: Duration) {
    let endpoint = memory?.login?.grant.endpoint ?? ""
    reassert("peer-timeout", "the gateway \(endpoint) has not answered for \(silence.components.seconds) s")
    let end = host.now + GatewayPatience.loss
    seeking.end = end
    if !leaveDeadGateway() { seek(isLater: true, until: end) }
  }

  private func begin(_ addresses: [IPAddress], _ number: Int) {
    (seeking.reason, seeking.began, relayFailure) = ("", host.now, "")
    perform(seeking.ways.begin(addresses, at: host.now))
    if seeking.number == number { look(number) }
  }

  /// Looks at the engine, again and again.
  private func look(_ number: Int) {
    let due = [seeking.ways.deadline, siteDeadline, live.nextGreeting(after: host.now)].compactMap { $0 }.min()
    let isSought = seeking.ways.isAwaiting || seeking.ways.way == nil
    let (pause, least) =
      isSought
      ? (GatewayPatience.look(after: host.now - seeking.asked), Duration.milliseconds(1)) : (watch.pause(at: host.now), .milliseconds(10))
    host.after(min(pause, max(least, due.map { $0 - host.now } ?? pause))) { [weak self] in
      guard let self, seeking.number == number else { return }
      engine.read { [weak self] reading in
        guard let self, seeking.number == number else { return }
        if let reading, take(reading) { return }
        if seeking.number == number { look(number) }
      }
    }
  }

  /// Whether the search has ended, or another one has begun.
  private func take(_ reading: EngineReading) -> Bool {
    let number = seeking.number
    let wasConnected = seeking.ways.way != nil
    let sight = WayMachine.Sight(handshake: reading.handshake, relayed: relay?.relayedHandshakes ?? 0)
    perform(seeking.ways.look(sight, at: host.now), reading)
    guard seeking.number == number else { return true }
    if seeking.ways.way == nil, let end = seeking.end, host.now >= end {
      seekAgain(memory?.login?.grant.endpoint ?? "")
      return true
    }
    if wasConnected { greet(reading) }
    if wasConnected, watch.isSilent(reading, at: host.now) {
      lose(after: watch.silence(at: host.now))
      return true
    }
    if wasConnected { measure(reading) }
    return seeking.number != number
  }

  private func perform(_ orders: [WayMachine.Order], _ reading: EngineReading = EngineReading()) {
    let number = seeking.number
    for order in orders where seeking.number == number { perform(order, reading) }
  }

  private func perform(_ order: WayMachine.Order, _ reading: EngineReading) {
    guard let memory, let grant = memory.login?.grant, let port = Endpoint(grant.endpoint)?.port else { return }
    func remote(_ address: IPAddress) -> Endpoint { Endpoint(host: .address(address), port: port) }
    switch order {
    case .connect(let address):
      seeking.asked = host.now
      seeking.reason = "\(remote(address)) does not answer by UDP"
      seeking.attempt = "tries UDP to \(remote(address))"
      tellAttempt()
      engine.configure(
        EngineRequest.connect(memory.key, to: grant.gatewayKey, at: remote(address), keepalive: GatewayPatience.keepalive))
    case .openRelay(let address):
      seeking.attempt = "tries TCP to the relay \(Endpoint(host: .address(address), port: grant.relayPort ?? 0))"
      tellAttempt()
      openRelay(at: address)
    case .closeRelay: closeRelay()
    case .connectThroughRelay:
      guard let relay else { return }
      seeking.asked = host.now
      engine.configure(
        EngineRequest.connect(memory.key, to: grant.gatewayKey, at: relay.engineEndpoint, keepalive: GatewayPatience.keepalive))
    case .probe(let address): engine.configure(EngineRequest.probe(remote(address), of: grant.gatewayKey))
    case .nudge:
      // It is sent when they are turned on.
      for seconds in [0, GatewayPatience.keepalive] { engine.configure(EngineRequest.keepalive(seconds, of: grant.gatewayKey)) }
    case .returnToUDP(let address):
      engine.configure(EngineRequest.move(to: remote(address), of: grant.gatewayKey, keepalive: grant.keepalive ?? 0))
    case .answered: answered(reading)
    case .silent: silent()
    }
  }

  private func answered(_ reading: EngineReading) {
    guard var login = memory?.login, let way = seeking.ways.way else { return }
    seeking.end = nil
    // The gateway ends relays that are silent.
    var keepalive = login.grant.keepalive ?? 0
    if case .tcp = way { keepalive = GatewayPatience.keepalive }
    if keepalive != GatewayPatience.keepalive { engine.configure(EngineRequest.keepalive(keepalive, of: login.grant.gatewayKey)) }
    if isReady { host.log(.notice, "transport", transportReason) }
    // The routes come with it: nothing is told or kept before.
    if !isReady || isReasserting {
      if live.isApplying { live.isReadyDue = true } else { host.ready() }
    }
    host.transport(transportReason)
    (isReady, isReasserting) = (true, false)
    if !login.isProven || login.silentStarts > 0 {
      (login.isProven, login.silentStarts) = (true, 0)
      memory?.login = login
      keep()
    }
    live.greetAgain()
    greet(reading)
    watch = PeerWatch(reading, keepalive: keepalive, at: host.now)
    siteAnswered()
    update()
  }

  /// In no way there was an answer.
  private func silent() {
    guard let login = memory?.login else { return }
    let endpoint = login.grant.endpoint
    if tryNextSite() { return }
    if seeking.isLater { return seekAgain(endpoint) }
    let words =
      login.grant.relayPort.map { "the gateway \(endpoint) does not answer WireGuard, neither by UDP nor by TCP port \($0)" }
      ?? "the gateway \(endpoint) does not answer WireGuard by UDP"
    let causes = relayFailure.isEmpty ? "" : " (\(relayFailure))"
    if hasSignedIn { return fail("peer-timeout", "\(words)\(causes), though it takes logins; check the network's firewall", .time) }
    memory?.login?.silentStarts += 1
    keep()
    let isWorthIt = memory?.login.map { $0.isProven || $0.silentStarts > ClientMemory.patience } ?? true
    // A device that the gateway does not know any more is not told so by WireGuard: a login finds out.
    seeking.number += 1
    if isWorthIt { logIn() } else { fail("peer-timeout", "\(words)\(causes); check the network's firewall", .time) }
  }

  /// A tunnel that was up looks on. After a while a new start finds out whether the gateway still knows the device.
  private func seekAgain(_ endpoint: String) {
    let end = seeking.end ?? host.now + GatewayPatience.loss
    guard host.now < end else { return fail("peer-timeout", "the gateway \(endpoint) does not answer any more", .time) }
    if seeking.end == nil { reassert("peer-timeout", "the gateway \(endpoint) does not answer") }
    let number = seeking.number
    host.after(max(GatewayPatience.look, GatewayPatience.round - (host.now - seeking.began))) { [weak self] in
      guard let self, seeking.number == number else { return }
      sites.searchAgain()
      seek(isLater: true, until: end)
    }
  }

  // MARK: The relay

  private func openRelay(at address: IPAddress) {
    let number = seeking.number
    engine.read { [weak self] reading in
      guard let self, seeking.number == number, let options, let port = memory?.login?.grant.relayPort else { return }
      let server = Endpoint(host: .address(address), port: port)
      relay = RelayLink(
        host, to: server, pin: memory?.login?.grant.site?.loginPin ?? options.pin, engine: engine, enginePort: reading?.port ?? 0,
        opened: { [weak self] in
          guard let self else { return }
          perform(seeking.ways.relayOpened(at: host.now))
        }, ended: { [weak self] in self?.relayEnded($0) })
      if let relay { relay.open() } else { relayEnded("no port of this machine can be opened for it") }
    }
  }

  private func relayEnded(_ reason: String) {
    relayFailure = reason
    host.log(.notice, "transport", "the relay: \(reason)")
    // The tunnel was up by it: the other ways are tried, and after a while the run fails.
    if case .tcp = seeking.ways.way { return seek(isLater: true) }
    perform(seeking.ways.relayFailed(at: host.now))
  }

  func closeRelay() {
    relay?.close()
    relay = nil
  }

  // MARK: For people

  /// `udp` or `tcp`; `nil` while the gateway is sought.
  var transport: String? {
    switch seeking.ways.way {
    case .udp: "udp"
    case .tcp: "tcp"
    case nil: nil
    }
  }

  /// The reason for the transport and for the choice of the gateway, for people: 500 bytes at most.
  var transportReason: String {
    let site = sites.text
    // The protocol takes 512 bytes.
    return String(decoding: (site.isEmpty ? wayReason : "\(wayReason); \(site)").utf8.prefix(500), as: UTF8.self)
  }

  private var wayReason: String {
    guard let way = seeking.ways.way, let grant = memory?.login?.grant, let port = Endpoint(grant.endpoint)?.port else { return "" }
    switch way {
    case .udp(let address): return "by UDP to \(Endpoint(host: .address(address), port: port)), which answers"
    case .tcp(let address):
      let relay = "by TCP to the relay \(Endpoint(host: .address(address), port: grant.relayPort ?? 0))"
      return options?.transport == .tcp ? "\(relay), as the policy wants" : "\(relay), because \(seeking.reason)"
    }
  }
}

/// The client's time limits and pauses.
enum GatewayPatience {
  /// Handshakes are repeated after 5 s.
  static let handshake = Duration.seconds(7)
  /// Another program that has the device gives it up sooner.
  static let device = Duration.seconds(3)
  static let look = Duration.milliseconds(100)
  /// Until the next look at an engine whose gateway was asked so long ago: an answer is seen an eighth of its time late, and at least a
  /// millisecond.
  static func look(after asked: Duration) -> Duration { min(look, max(.milliseconds(1), asked / 8)) }
  /// Between the beginnings of two searches, which may fail at once.
  static let round = Duration.seconds(2)
  /// A search of a tunnel that was up is told after so long.
  static let tell = Duration.seconds(5)
  /// A tunnel that was up fails after so long without the gateway.
  static let loss = Duration.seconds(30)
  /// The most addresses of a name that are tried: a start has to be ready within a minute.
  static let addresses = 3
  /// While an answer is awaited: it makes the handshake.
  static let keepalive: UInt16 = 25
}
