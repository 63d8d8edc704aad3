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
  let host: ProviderHost
  let engine: Engine
  private(set) var options: ClientOptions?
  var memory: ClientMemory?
  private var signIn: SignIn?
  private var secrets: (token: [UInt8]?, password: [UInt8]?)
  private(set) var hasSignedIn = false
  var seeking = Seeking()
  var watch = PeerWatch()
  /// The open way through the gateway's relay; `nil`: there is none.
  var relay: RelayLink?
  /// The reason why there is no relay, for people; empty: none is known.
  var relayFailure = ""
  /// Whether the engine runs on the device.
  private(set) var isRunning = false
  /// Whether it was connected in this run; and whether it says that it carries nothing now.
  var isReady = false
  var isReasserting = false
  var live = LiveSettings()
  var sites = SiteMachine(.nearest)
  /// The probes of gateways that are under way.
  var round: SiteRound?
  /// Addresses of gateways whose endpoint is a name.
  var places: [[UInt8]: IPAddress] = [:]
  /// When this run began.
  var began = Moment(nanoseconds: 0)
  var questions = PacketQuestions()

  /// The search for a way to the gateway.
  struct Seeking {
    /// The number of the present search: callbacks of earlier ones do nothing.
    var number = 0
    var ways = WayMachine(.auto, hasRelay: false)
    /// The reason why TCP is used, for people.
    var reason = ""
    /// The way that is tried, for people.
    var attempt = ""
    /// A first search of a run ends with a login or a failure, a later one with a failure alone, after a while.
    var isLater = false
    var began = Moment(nanoseconds: 0)
    /// When the last session was begun, whose answer is awaited.
    var asked = Moment(nanoseconds: 0)
    var end: Moment?
  }

  package init(host: ProviderHost) {
    self.host = host
    engine = Engine(host: host)
  }

  // MARK: The agent

  package func start(_ request: StartRequest) {
    (options, hasSignedIn, isRunning, isReady, isReasserting, signIn) = (ClientOptions(request.options), false, false, false, false, nil)
    (live, round, began) = (LiveSettings(), nil, host.now)
    sites = SiteMachine(options?.gateway ?? .nearest)
    secrets = (bytes(of: "token"), bytes(of: "password"))
    let kept = host.credential(ProtocolLimits.keptCredential)
    guard let options else { return fail("no-server", "the options `server` and `pin` are missing or wrong", .person) }
    memory = kept.flatMap { ClientMemory($0) }
    let isNew = memory == nil
    if isNew {
      guard let key = DeviceKey.make() else { return fail("no-key", "libsodium cannot make a key", .nobody) }
      memory = ClientMemory(key: key)
    }
    if memory?.login?.identity != options.identity { memory?.login = nil }
    if memory?.login == nil { logIn() } else { prepare() }
    // The agent writes it to the disk while the gateway is connected.
    if isNew { keep() }
    engine.prepare()
  }

  package func stop(_ reason: StopReason) {
    leave()
    host.stopped()
  }

  package func networkChanged(_ path: NetworkPath?) {
    guard isRunning, isReady else { return }
    guard path != nil else {
      seeking.number += 1
      seeking.ways.stop()
      suspendSites()
      closeRelay()
      return reassert("no-network", "there is no network")
    }
    sites.forget()
    seek(isLater: true)
  }

  package func wake() { if isRunning, isReady { seek(isLater: true) } }

  package func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) {
    if case .typed("explain", let value) = message { return explain(value, reply) }
    guard case .typed("status", _) = message else {
      return reply(.failure(Refusal(code: "unknown-type", text: "this provider knows `status` and `explain`")))
    }
    let grant = memory?.login?.grant
    reply(
      .success(
        .typed(
          "status",
          [
            "connected": .bool(isReady && !isReasserting), "user": JSON(grant?.user), "device": JSON(grant?.device),
            "endpoint": JSON(grant?.endpoint), "transport": JSON(transport),
            "transport-reason": JSON(transport == nil ? nil : transportReason),
            "addresses": JSON(grant?.addresses.map(\.description) ?? []),
            "signed-in-now": .bool(hasSignedIn), "gateway": JSON(grant?.site?.name), "gateways": siteReport,
          ])))
  }

  /// The end of line that an editor writes is no part of a secret.
  private func bytes(of credential: Word) -> [UInt8]? {
    guard var bytes = host.credential(credential) else { return nil }
    while bytes.last == 10 || bytes.last == 13 { bytes.removeLast() }
    return bytes.isEmpty ? nil : bytes
  }

  func keep() { if let memory { host.keep(memory.bytes) } }

  func reassert(_ code: Word, _ text: String) {
    (isReasserting, live.isReadyDue) = (true, false)
    host.transport("")
    host.reasserting(code, text)
  }

  private func leave() {
    seeking.number += 1
    seeking.ways.stop()
    suspendSites()
    closeRelay()
    (isReady, isRunning, signIn) = (false, false, nil)
    endQuestions()
    engine.stop()
  }

  func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help) {
    fail(TunnelFailure(code: code, text: "\(host.tunnel): \(text)", help: help))
  }

  private func fail(_ failure: TunnelFailure) {
    leave()
    host.fail(failure)
  }

  // MARK: The login

  func logIn() {
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
        prepare()
        keep()
      }
    }
    signIn?.begin()
  }

  // MARK: The engine

  /// Has the settings, the device and the engine, and looks for the gateway. The agent is asked for both at once: it makes the link with
  /// its addresses in one pass.
  private func prepare() {
    updateSites()
    useWanted()
    guard let grant = memory?.login?.grant else { return }
    live.inForce = nil
    apply(grant)
    if !isRunning { openDevice() }
  }

  private func openDevice() {
    host.openDevice { [weak self] result in
      switch result {
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .time)
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
      self?.fail("engine-ended", "roamward-wireguard ended by itself; see the log", .time)
    }
    if let trouble {
      guard trouble.isBusy else { return fail("no-engine", trouble.text, .person) }
      guard host.now < end else { return fail("device-busy", trouble.text, .time) }
      host.after(.milliseconds(20)) { [weak self] in self?.startEngine(on: interface, until: end) }
      return
    }
    isRunning = true
    seekGateway()
  }

  private func apply(_ grant: LoginGrant) {
    host.apply(Self.settings(of: grant)) { [weak self] result in
      guard let self else { return }
      switch result {
      case .failure(let refusal): fail(refusal.code, refusal.text, .time)
      case .success(let refused):
        report(refused)
        live.inForce = grant
        seekGateway()
      }
    }
  }

  /// Once the engine runs, and the link has its addresses.
  private func seekGateway() {
    guard isRunning, let grant = live.inForce else { return }
    listen(grant)
    seek(isLater: false)
  }

  func report(_ refused: [RefusedSetting]) {
    for setting in refused { host.log(.notice, "settings", "refused: \(setting.setting) \(setting.value) (\(setting.code))") }
  }

  /// The tunnel's settings from a grant. Its name servers are for all names if the tunnel is for all addresses, or without domains.
  static func settings(of grant: LoginGrant) -> TunnelSettings {
    var settings = TunnelSettings(
      addresses: grant.addresses.compactMap { InterfaceAddress($0, prefixLength: $0.family.bitWidth) },
      // Changed settings come from the gateway's own addresses: a kernel with rp_filter drops them without a route.
      includedRoutes: (grant.routes + grant.gatewayAddresses.map { IPPrefix.host($0) }).uniqued())
    settings.mtu = grant.mtu.map { Int($0) }
    // WireGuard over IPv6: 40 bytes of IP, 8 of UDP, 32 of its own.
    settings.overhead = 80
    let domains = grant.search.compactMap { DomainName($0) }
    let isFull = grant.routes.coverEverything
    if !grant.dns.isEmpty {
      settings.dns = DNSSettings(
        servers: Array(grant.dns.prefix(ProtocolLimits.servers)), searchDomains: domains, matchDomains: isFull ? [] : domains)
    }
    return settings
  }
}
