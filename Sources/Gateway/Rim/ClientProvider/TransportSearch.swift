internal import Lives
internal import LoginProtocol
internal import NetworkTypes

/// A search for a transport in which the gateway answers, and the transport that it has found.
struct TransportSearch {
  /// Its name: answers to an earlier search have another one.
  private(set) var attempt: LifeToken
  var transports: TransportMachine
  /// The moment at which a search that goes on for that long has failed.
  var until: Moment?
  /// When the first transport was tried last.
  private(set) var began: Moment?
  /// When the last session was begun, whose answer is awaited.
  private(set) var asked: Moment?
  /// The reason why TCP is used, for people.
  private(set) var reason = ""
  /// The transport that is tried, for people.
  private(set) var trial = ""
  /// The reason why there is no relay, for people; empty: none is known.
  var relayFailure = ""

  init(_ attempt: LifeToken, _ transports: TransportMachine, until: Moment?) {
    self.attempt = attempt
    self.transports = transports
    self.until = until
  }

  /// The next search. It keeps the knowledge of the transports, unless none was found, or the gateway has begun or ceased to
  /// relay meanwhile.
  func next(_ attempt: LifeToken, _ transports: TransportMachine, until: Moment?) -> TransportSearch {
    var next = self
    (next.attempt, next.until) = (attempt, until)
    if self.transports.transport == nil || self.transports.hasRelay != transports.hasRelay { next.transports = transports }
    return next
  }

  /// The gateway's addresses are known.
  mutating func begin(_ addresses: [IPAddress], at now: Moment) -> [TransportMachine.Order] {
    (reason, began, relayFailure) = ("", now, "")
    return transports.begin(addresses, at: now)
  }

  /// Performs an order about the gateway of this grant. `tells`: whether people see each transport that is tried.
  mutating func perform(_ order: TransportMachine.Order, _ grant: LoginGrant, port: UInt16, tells: Bool, at now: Moment) -> [ClientEffect] {
    let key = grant.gatewayKey
    func remote(_ address: IPAddress) -> Endpoint { Endpoint(host: .address(address), port: port) }
    switch order {
    case .connect(let address):
      let remote = remote(address)
      (asked, reason, trial) = (now, "\(remote) does not answer by UDP", "tries UDP to \(remote)")
      return (tells ? [.transport(trial)] : []) + [.engine(.connect(key, remote))]
    case .openRelay(let address):
      let relay = Endpoint(host: .address(address), port: grant.relayPort ?? 0)
      trial = "tries TCP to the relay \(relay)"
      return (tells ? [.transport(trial)] : []) + [.openRelay(attempt, relay, pin: grant.site?.loginPin)]
    case .closeRelay: return [.closeRelay]
    case .connectThroughRelay:
      asked = now
      return [.engine(.connectThroughRelay(key))]
    case .probe(let address): return [.engine(.probe(key, remote(address)))]
    // It is sent when keepalives are turned on.
    case .nudge: return [0, GatewayPatience.keepalive].map { .engine(.keepalive(key, $0)) }
    case .returnToUDP(let address): return [.engine(.move(key, remote(address), keepalive: grant.keepalive ?? 0))]
    case .answered, .silent: return []
    }
  }

  var isByUDP: Bool { if case .udp = transports.transport { true } else { false } }

  /// The family of addresses that passes here; `nil`: it is not known.
  var family: IPAddress.Family? { if case .udp(let address) = transports.transport { address.family } else { nil } }

  /// The reason for the transport, for people.
  func text(_ grant: LoginGrant, _ preference: TransportMachine.Preference?) -> String {
    guard let transport = transports.transport, let port = Endpoint(grant.endpoint)?.port else { return "" }
    switch transport {
    case .udp(let address): return "by UDP to \(Endpoint(host: .address(address), port: port)), which answers"
    case .tcp(let address):
      let relay = "by TCP to the relay \(Endpoint(host: .address(address), port: grant.relayPort ?? 0))"
      return preference == .tcp ? "\(relay), as the policy wants" : "\(relay), because \(reason)"
    }
  }
}

extension TransportMachine.Transport {
  /// For applications.
  var word: String {
    switch self {
    case .udp: "udp"
    case .tcp: "tcp"
    }
  }
}
