internal import JSON
internal import LoginProtocol
internal import NetworkTypes
package import ProviderProtocol
package import RoamwardProvider

/// The client of `roamward-gateway` as a provider: a login binds the device's key once, and gives the settings; WireGuard carries the
/// packets.
///
/// A start tries the handshake with the kept key first. Only a gateway that does not answer it is asked for a login.
package final class GatewayClient<Engine: ClientEngine>: TunnelProvider {
  private let host: ProviderHost
  private let engine: Engine
  private var options: ClientOptions?
  private var memory: ClientMemory?
  private var signIn: SignIn?
  private var secrets: (token: [UInt8]?, password: [UInt8]?)
  private var hasSignedIn = false
  private var seeking = Seeking()
  private var watch = PeerWatch()
  /// Whether the engine runs on the device.
  private var isRunning = false
  /// Whether it was connected in this run; and whether it says that it carries nothing now.
  private var isReady = false
  private var isReasserting = false

  /// The search for an address at which the gateway answers.
  private struct Seeking {
    /// Makes callbacks of a search before this one do nothing.
    var number = 0
    var addresses: [IPAddress] = []
    /// A first search of a run ends with a login or a failure, a later one with a failure alone.
    var isLater = false
  }

  package init(host: ProviderHost) {
    self.host = host
    engine = Engine(host: host)
  }

  // MARK: The agent

  package func start(_ request: StartRequest) {
    (options, hasSignedIn, isRunning, isReady, isReasserting, signIn) = (ClientOptions(request.options), false, false, false, false, nil)
    secrets = (bytes(of: "token"), bytes(of: "password"))
    let kept = host.credential(ProtocolLimits.keptCredential)
    guard let options else { return fail("no-server", "the options `server` and `pin` are missing or wrong", .person) }
    memory = kept.flatMap { ClientMemory($0) }
    if memory == nil {
      guard let key = DeviceKey.make() else { return fail("no-key", "libsodium cannot make a key", .nobody) }
      memory = ClientMemory(key: key)
      keep()
    }
    if memory?.login?.identity != options.identity { memory?.login = nil }
    if memory?.login == nil { logIn() } else { prepare() }
  }

  package func stop(_ reason: StopReason) {
    leave()
    host.stopped()
  }

  package func networkChanged(_ path: NetworkPath?) {
    guard isRunning, isReady else { return }
    guard path != nil else {
      seeking.number += 1
      return reassert("no-network", "there is no network")
    }
    seek(isLater: true)
  }

  package func wake() { if isRunning, isReady { seek(isLater: true) } }

  package func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) {
    guard case .typed("status", _) = message else {
      return reply(.failure(Refusal(code: "unknown-type", text: "this provider knows `status`")))
    }
    let grant = memory?.login?.grant
    reply(
      .success(
        .typed(
          "status",
          [
            "connected": .bool(isReady && !isReasserting), "user": JSON(grant?.user), "device": JSON(grant?.device),
            "endpoint": JSON(grant?.endpoint), "addresses": JSON(grant?.addresses.map(\.description) ?? []),
            "signed-in-now": .bool(hasSignedIn),
          ])))
  }

  /// The end of line that an editor writes is no part of a secret.
  private func bytes(of credential: Word) -> [UInt8]? {
    guard var bytes = host.credential(credential) else { return nil }
    while bytes.last == 10 || bytes.last == 13 { bytes.removeLast() }
    return bytes.isEmpty ? nil : bytes
  }

  private func keep() { if let memory { host.keep(memory.bytes) } }

  private func reassert(_ code: Word, _ text: String) {
    isReasserting = true
    host.reasserting(code, text)
  }

  private func leave() {
    seeking.number += 1
    (isReady, isRunning, signIn) = (false, false, nil)
    engine.stop()
  }

  private func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help) {
    fail(TunnelFailure(code: code, text: "\(host.tunnel): \(text)", help: help))
  }

  private func fail(_ failure: TunnelFailure) {
    leave()
    host.fail(failure)
  }

  // MARK: The login

  private func logIn() {
    guard let options, let key = memory?.key else { return }
    hasSignedIn = true
    signIn = SignIn(host, options, publicKey: key.publicKey, token: secrets.token, password: secrets.password) { [weak self] result in
      guard let self else { return }
      signIn = nil
      switch result {
      case .failure(let failure): fail(failure)
      case .success(let grant):
        guard Endpoint(grant.endpoint) != nil, !grant.addresses.isEmpty else {
          return fail("no-settings", "the gateway \(options.server) gives no address; ask its administrator", .person)
        }
        memory?.login = ClientMemory.Login(identity: options.identity, grant: grant)
        keep()
        prepare()
      }
    }
    signIn?.begin()
  }

  // MARK: The engine

  /// Has the device, its settings and the engine, and looks for the gateway.
  private func prepare() {
    guard let grant = memory?.login?.grant else { return }
    guard !isRunning else { return apply(grant) }
    host.openDevice { [weak self] result in
      switch result {
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .time)
      case .success(let flow):
        // A device takes one program at a time: the engine attaches to it by its name, once the descriptor of this call is closed.
        (flow as? any ClosableFlow)?.close()
        guard let self else { return }
        let (interface, end) = (flow.interface, host.now + GatewayPatience.device)
        host.after(.zero) { [weak self] in self?.startEngine(on: interface, grant, until: end) }
      }
    }
  }

  private func startEngine(on interface: String, _ grant: LoginGrant, until end: Moment) {
    let trouble = engine.start(on: interface) { [weak self] in
      self?.fail("engine-ended", "roamward-wireguard ended by itself; see the log", .time)
    }
    if let trouble {
      guard trouble.isBusy else { return fail("no-engine", trouble.text, .person) }
      guard host.now < end else { return fail("device-busy", trouble.text, .time) }
      host.after(.milliseconds(20)) { [weak self] in self?.startEngine(on: interface, grant, until: end) }
      return
    }
    isRunning = true
    apply(grant)
  }

  private func apply(_ grant: LoginGrant) {
    host.apply(Self.settings(of: grant)) { [weak self] result in
      guard let self else { return }
      switch result {
      case .failure(let refusal): fail(refusal.code, refusal.text, .time)
      case .success(let refused):
        for setting in refused { host.log(.notice, "settings", "refused: \(setting.setting) \(setting.value) (\(setting.code))") }
        seek(isLater: false)
      }
    }
  }

  /// What the gateway has pushed. Its name servers are for all names if the tunnel is for all addresses, or if they come without domains.
  static func settings(of grant: LoginGrant) -> TunnelSettings {
    var settings = TunnelSettings(
      addresses: grant.addresses.compactMap { InterfaceAddress($0, prefixLength: $0.family.bitWidth) }, includedRoutes: grant.routes)
    settings.mtu = grant.mtu.map { Int($0) }
    // WireGuard over IPv6: 40 bytes of IP, 8 of UDP, 32 of its own.
    settings.overhead = 80
    let domains = grant.search.compactMap { DomainName($0) }
    let isFull = grant.routes.contains { $0.length == 0 }
    if !grant.dns.isEmpty {
      settings.dns = DNSSettings(
        servers: Array(grant.dns.prefix(ProtocolLimits.servers)), searchDomains: domains, matchDomains: isFull ? [] : domains)
    }
    return settings
  }

  // MARK: The gateway

  /// Looks for an address at which the gateway answers a handshake.
  private func seek(isLater: Bool) {
    guard let endpoint = memory?.login.flatMap({ Endpoint($0.grant.endpoint) }) else { return }
    seeking.number += 1
    seeking.isLater = isLater
    let number = seeking.number
    if case .address(let address) = endpoint.host { return attempt([address], endpoint.port, number) }
    guard case .name(let name) = endpoint.host else { return }
    host.resolve(name) { [weak self] result in
      guard let self, seeking.number == number else { return }
      switch result {
      case .success(let addresses): attempt(Array(addresses.prefix(GatewayPatience.addresses)), endpoint.port, number)
      case .failure(let refusal):
        if isLater { return silent() }
        fail("unresolved", "\(name), the gateway's name, has no address: \(refusal.text); check the network", .time)
      }
    }
  }

  private func attempt(_ addresses: [IPAddress], _ port: UInt16, _ number: Int) {
    guard let memory, let grant = memory.login?.grant else { return }
    guard let address = addresses.first else { return silent() }
    let remote = Endpoint(host: .address(address), port: port)
    engine.configure(EngineRequest.connect(memory.key, to: grant.gatewayKey, at: remote, keepalive: GatewayPatience.keepalive))
    poll(number, until: host.now + GatewayPatience.handshake) { [weak self] in
      self?.attempt(Array(addresses.dropFirst()), port, number)
    }
  }

  /// Calls `late` if there was no handshake until then.
  private func poll(_ number: Int, until end: Moment, late: @escaping () -> Void) {
    host.after(GatewayPatience.look) { [weak self] in
      guard let self, seeking.number == number else { return }
      engine.read { [weak self] reading in
        guard let self, seeking.number == number else { return }
        if let reading, reading.hasHandshake { return answered(reading) }
        if host.now >= end { return late() }
        poll(number, until: end, late: late)
      }
    }
  }

  private func answered(_ reading: EngineReading) {
    guard var login = memory?.login else { return }
    if !login.isProven || login.silentStarts > 0 {
      (login.isProven, login.silentStarts) = (true, 0)
      memory?.login = login
      keep()
    }
    let keepalive = login.grant.keepalive ?? 0
    if keepalive != GatewayPatience.keepalive { engine.configure(EngineRequest.keepalive(keepalive, of: login.grant.gatewayKey)) }
    if !isReady || isReasserting { host.ready() }
    (isReady, isReasserting) = (true, false)
    watch = PeerWatch(reading, at: host.now)
    observe(seeking.number)
  }

  /// No address has answered.
  private func silent() {
    guard let endpoint = memory?.login?.grant.endpoint else { return }
    if seeking.isLater {
      reassert("peer-timeout", "the gateway \(endpoint) does not answer")
      return seekAgain(seeking.number, endpoint)
    }
    let words = "the gateway \(endpoint) does not answer WireGuard by UDP"
    if hasSignedIn { return fail("peer-timeout", "\(words), though it takes logins; check the network's firewall", .time) }
    memory?.login?.silentStarts += 1
    keep()
    let isWorthIt = memory?.login.map { $0.isProven || $0.silentStarts > ClientMemory.patience } ?? true
    // A device that the gateway does not know any more is not told so by WireGuard: a login finds out.
    if isWorthIt { logIn() } else { fail("peer-timeout", "\(words); check the network's firewall", .time) }
  }

  /// A tunnel that was up looks on. After a while a new start finds out whether the gateway still knows the device.
  private func seekAgain(_ number: Int, _ endpoint: String) {
    poll(number, until: host.now + GatewayPatience.loss) { [weak self] in
      self?.fail("peer-timeout", "the gateway \(endpoint) does not answer any more", .time)
    }
  }

  private func observe(_ number: Int) {
    host.after(watch.pause) { [weak self] in
      guard let self, seeking.number == number else { return }
      engine.read { [weak self] reading in
        guard let self, seeking.number == number else { return }
        guard let reading, watch.isSilent(reading, at: host.now) else { return observe(number) }
        seek(isLater: true)
      }
    }
  }
}

/// How long the client waits.
enum GatewayPatience {
  /// Handshakes are repeated after 5 s.
  static let handshake = Duration.seconds(7)
  /// Whatever has the device gives it up sooner.
  static let device = Duration.seconds(3)
  static let look = Duration.milliseconds(100)
  /// A tunnel that was up fails after so long without the gateway.
  static let loss = Duration.seconds(30)
  /// The most addresses of a name that are tried: a start has to be ready within a minute.
  static let addresses = 3
  /// While an answer is awaited: it makes the handshake.
  static let keepalive: UInt16 = 25
}
