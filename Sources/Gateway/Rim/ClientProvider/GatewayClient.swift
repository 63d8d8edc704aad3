internal import JSON
internal import Lives
internal import LoginProtocol
internal import NetworkTypes
package import ProviderProtocol
package import RoamwardProvider

/// The client of `roamward-gateway` as a provider: a login binds the device's key once, and gives the settings; WireGuard carries the
/// packets. `ClientLife` decides, and this carries out its effects.
package final class GatewayClient<Engine: ClientEngine>: TunnelProvider {
  private let host: ProviderHost
  private let engine: Engine
  private let questions: PacketQuestions
  private var life = ClientLife()
  private var effects = EffectQueue<ClientEffect>()
  private var key: DeviceKey?
  private var secrets: (token: [UInt8]?, password: [UInt8]?)
  private var signIn: SignIn?
  /// The open way through the gateway's relay; `nil`: there is none.
  private var relay: RelayLink?

  package init(host: ProviderHost) {
    self.host = host
    let engine = Engine(host: host)
    self.engine = engine
    questions = PacketQuestions(host) { [weak engine] in engine?.send($0, to: $1) }
    questions.asked = { [weak self] in
      guard let self, let key, let grant = life.link?.settings.inForce else { return nil }
      return (grant, key)
    }
  }

  // MARK: The agent

  package func start(_ request: StartRequest) {
    secrets = (bytes(of: "token"), bytes(of: "password"))
    let memory = host.credential(ProtocolLimits.keptCredential).flatMap { ClientMemory($0) }
    guard let options = ClientOptions(request.options) else {
      return perform([.fail(TunnelFailure(code: "no-server", text: "the options `server` and `pin` are missing or wrong", help: .person))])
    }
    key = memory?.key ?? DeviceKey.make()
    guard key != nil else {
      return perform([.fail(TunnelFailure(code: "no-key", text: "libsodium cannot make a key", help: .nobody))])
    }
    take(.start(options, memory?.login))
    // The agent writes it to the disk while the gateway is connected.
    if memory == nil { perform([.keep]) }
    engine.prepare()
  }

  package func stop(_ reason: StopReason) {
    take(.stop)
    host.stopped()
  }

  package func networkChanged(_ path: NetworkPath?) { take(.network(isThere: path != nil)) }

  package func wake() { take(.wake) }

  package func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) {
    if case .typed("explain", let value) = message { return questions.explain(value, isConnected: life.isConnected, reply) }
    guard case .typed("status", _) = message else {
      return reply(.failure(Refusal(code: "unknown-type", text: "this provider knows `status` and `explain`")))
    }
    let grant = life.run.grant
    reply(
      .success(
        .typed(
          "status",
          [
            "connected": .bool(life.isConnected), "user": JSON(grant?.user), "device": JSON(grant?.device),
            "endpoint": JSON(grant?.endpoint), "transport": JSON(life.transport),
            "transport-reason": JSON(life.transport == nil ? nil : life.transportReason),
            "addresses": JSON(grant?.addresses.map(\.description) ?? []),
            "signed-in-now": .bool(life.run.hasSignedIn), "gateway": JSON(grant?.site?.name),
            "gateways": life.run.choice.report(grant?.sites ?? []),
          ])))
  }

  /// The end of line that an editor writes is no part of a secret.
  private func bytes(of credential: Word) -> [UInt8]? {
    guard var bytes = host.credential(credential) else { return nil }
    while bytes.last == 10 || bytes.last == 13 { bytes.removeLast() }
    return bytes.isEmpty ? nil : bytes
  }

  // MARK: Effects

  private func take(_ event: ClientEvent) { perform(life.take(event, at: host.now)) }

  private func perform(_ new: [ClientEffect]) {
    guard effects.add(new) else { return }
    while let effect = effects.next() { perform(effect) }
  }

  private func perform(_ effect: ClientEffect) {
    switch effect {
    case .logIn: logIn()
    case .keep: if let key { host.keep(ClientMemory(key: key, login: life.run.login).bytes) }
    case .openDevice: openDevice()
    case .apply(let attempt, let grant):
      host.apply(grant.tunnelSettings) { [weak self] result in
        switch result {
        case .success(let refused): self?.take(.applied(attempt, refused: refused))
        case .failure(let refusal): self?.take(.refused(attempt, refusal))
        }
      }
    case .ready: host.ready()
    case .reassert(let code, let text): host.reasserting(code, text)
    case .transport(let text): host.transport(text)
    case .log(let level, let text, let origin): host.log(level, origin, text)
    case .resolve(let attempt, let name):
      host.resolve(name) { [weak self] result in
        switch result {
        case .success(let addresses): self?.take(.resolved(attempt, addresses))
        case .failure(let refusal): self?.take(.unresolved(attempt, name, refusal))
        }
      }
    case .locate(let key, let name):
      host.resolve(name) { [weak self] result in
        if case .success(let addresses) = result { self?.take(.located(key, addresses)) }
      }
    case .engine(let order): if let request = request(order) { engine.configure(request) }
    case .read(let attempt): read(attempt)
    case .listen(let grant): listen(grant)
    case .greet(let gateway): engine.send([], to: gateway)
    case .openRelay(let attempt, let relay, let pin): openRelay(attempt, at: relay, pin: pin)
    case .closeRelay: closeRelay()
    case .wait(let duration, let event): host.after(duration) { [weak self] in self?.take(event) }
    case .leave: leave()
    case .fail(var failure):
      failure.text = "\(host.tunnel): \(failure.text)"
      host.fail(failure)
    }
  }

  private func logIn() {
    guard let options = life.run.options, let key else { return }
    signIn = SignIn(host, options, publicKey: key.publicKey, token: secrets.token, password: secrets.password) { [weak self] result in
      self?.signIn = nil
      switch result {
      case .failure(let failure): self?.take(.failed(failure))
      case .success(let grant): self?.take(.signedIn(grant))
      }
    }
    signIn?.begin()
  }

  private func leave() {
    closeRelay()
    signIn = nil
    questions.end()
    engine.stop()
  }

  // MARK: The engine

  private func openDevice() {
    host.openDevice { [weak self] result in
      switch result {
      case .failure(let refusal): self?.take(.failed(TunnelFailure(code: refusal.code, text: refusal.text, help: .time)))
      case .success(let flow):
        // A device takes one program at a time: the engine attaches to it by its name, once the descriptor of this call is closed.
        (flow as? any ClosableFlow)?.close()
        guard let self else { return }
        let (interface, end) = (flow.interface, host.now + GatewayPatience.device)
        host.after(.zero) { [weak self] in self?.startEngine(on: interface, until: end) }
      }
    }
  }

  private func startEngine(on interface: String, until end: Moment) {
    let trouble = engine.start(on: interface) { [weak self] in
      self?.take(.failed(TunnelFailure(code: "engine-ended", text: "roamward-wireguard ended by itself; see the log", help: .time)))
    }
    guard let trouble else { return take(.engineStarted) }
    guard trouble.isBusy, host.now < end else {
      let code: Word = trouble.isBusy ? "device-busy" : "no-engine"
      return take(.failed(TunnelFailure(code: code, text: trouble.text, help: trouble.isBusy ? .time : .person)))
    }
    host.after(.milliseconds(20)) { [weak self] in self?.startEngine(on: interface, until: end) }
  }

  private func request(_ order: EngineOrder) -> String? {
    guard let key else { return nil }
    func connect(_ gateway: [UInt8], _ endpoint: Endpoint) -> String {
      EngineRequest.connect(key, to: gateway, at: endpoint, keepalive: GatewayPatience.keepalive)
    }
    return switch order {
    case .connect(let gateway, let endpoint): connect(gateway, endpoint)
    case .connectThroughRelay(let gateway): relay.map { connect(gateway, $0.engineEndpoint) }
    case .probe(let gateway, let endpoint): EngineRequest.probe(endpoint, of: gateway)
    case .measure(let gateway, let endpoint): EngineRequest.measure(gateway, at: endpoint)
    case .remove(let gateway): EngineRequest.remove(gateway)
    case .keepalive(let gateway, let seconds): EngineRequest.keepalive(seconds, of: gateway)
    case .move(let gateway, let endpoint, let keepalive): EngineRequest.move(to: endpoint, of: gateway, keepalive: keepalive)
    }
  }

  private func read(_ attempt: LifeToken) {
    engine.read { [weak self] reading in
      guard let self else { return }
      let (relayed, clock) = (relay?.relayedHandshakes ?? 0, engine.clock)
      take(.read(attempt, reading.map { EngineSight(reading: $0, relayed: relayed, clock: clock) }))
    }
  }

  private func listen(_ grant: LoginGrant) {
    guard let address = grant.addresses.first else { return }
    let trouble = engine.listen(at: address) { [weak self] in self?.take($0) }
    if let trouble { host.log(.notice, "settings", "changed settings come only with the next login: \(trouble.text)") }
  }

  /// Takes a datagram from inside of the tunnel, if it is the gateway's.
  private func take(_ datagram: [UInt8]) {
    if SealedDatagram.kind(of: datagram) == PacketAnswer.kind { return questions.take(datagram) }
    guard let key, let gateway = life.run.grant?.gatewayKey else { return }
    if SealedDatagram.kind(of: datagram) == SessionEnd.kind {
      guard let end = SessionEnd(datagram, { key.seal($0, of: gateway, SessionEnd.label) }) else { return }
      return take(.sessionEnded(number: end.number))
    }
    guard let push = SettingsPush(datagram, { key.seal($0, of: gateway) }) else { return }
    take(.pushed(push, bytes: datagram.count))
  }

  // MARK: The relay

  private func openRelay(_ attempt: LifeToken, at relay: Endpoint, pin: String?) {
    engine.read { [weak self] reading in
      guard let self, life.isPresent(attempt), let own = life.run.options?.pin else { return }
      let link = RelayLink(
        host, to: relay, pin: pin ?? own, engine: engine, enginePort: reading?.port ?? 0,
        opened: { [weak self] in self?.take(.relayOpened(attempt)) }, ended: { [weak self] in self?.take(.relayEnded(attempt, $0)) })
      self.relay = link
      if let link { link.open() } else { take(.relayEnded(attempt, "no port of this machine can be opened for it")) }
    }
  }

  private func closeRelay() {
    relay?.close()
    relay = nil
  }
}

extension LoginGrant {
  /// The tunnel's settings. Its name servers are for all names if the tunnel is for all addresses, or without domains.
  var tunnelSettings: TunnelSettings {
    var settings = TunnelSettings(
      addresses: addresses.compactMap { InterfaceAddress($0, prefixLength: $0.family.bitWidth) },
      // Changed settings come from the gateway's own addresses: a kernel with rp_filter drops them without a route.
      includedRoutes: (routes + gatewayAddresses.map { IPPrefix.host($0) }).uniqued())
    settings.mtu = mtu.map { Int($0) }
    // WireGuard over IPv6: 40 bytes of IP, 8 of UDP, 32 of its own.
    settings.overhead = 80
    let domains = search.compactMap { DomainName($0) }
    let isFull = routes.coverEverything
    if !dns.isEmpty {
      settings.dns = DNSSettings(
        servers: Array(dns.prefix(ProtocolLimits.servers)), searchDomains: domains, matchDomains: isFull ? [] : domains)
    }
    return settings
  }
}
