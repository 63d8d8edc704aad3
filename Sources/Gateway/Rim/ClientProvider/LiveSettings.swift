internal import Lives
internal import LoginProtocol
internal import NetworkTypes

/// The gateway's settings while the engine runs: those in force, and the request for others that is under way.
struct LiveSettings {
  /// Settings that the agent was asked to apply.
  struct Request {
    let attempt: LifeToken
    let grant: LoginGrant
    /// Whether the gateway has answered meanwhile: the tunnel is ready once they are applied.
    var isReadyDue: Bool
  }

  /// Those that the agent has applied last, or has refused.
  private(set) var inForce: LoginGrant
  /// One at a time.
  var request: Request?
  private var greeting: (received: UInt64, at: Moment)?

  init(inForce: LoginGrant) { self.inForce = inForce }

  /// More bytes than a handshake and the keepalives of a session without data: those are no reason to greet, or greetings would never end.
  private static let quiet: UInt64 = 256
  /// The gateway is greeted so often without data, and at most so often with it.
  static let idlePause = Duration.seconds(600)
  private static let pause = Duration.seconds(15)
  /// The bytes that WireGuard, IP, UDP and padding add to a datagram.
  private static let overhead: UInt64 = 96

  /// The agent has answered the request.
  mutating func finish(_ request: Request) { (inForce, self.request) = (request.grant, nil) }

  /// A gateway that has just answered may have changed something meanwhile. (The engine counts anew then.)
  mutating func greetAgain() { greeting = nil }

  /// Leaves a datagram of the gateway itself out of account: it is no reason to greet it.
  mutating func disregard(bytes: Int) { greeting?.received += UInt64(bytes) + Self.overhead }

  /// When the gateway may be greeted next; `nil`: it is time already.
  func nextGreeting(after now: Moment) -> Moment? { greeting.map { $0.at + Self.pause }.flatMap { $0 > now ? $0 : nil } }

  /// The gateway's address to greet now: while packets come, so that a firewall of this machine expects the gateway; otherwise now and
  /// then, so that a gateway behind which this machine has been forgotten sees it.
  mutating func greet(_ reading: EngineReading, at now: Moment) -> IPAddress? {
    if let greeting {
      let pause = reading.received > greeting.received + Self.quiet ? Self.pause : Self.idlePause
      guard now - greeting.at >= pause else { return nil }
    }
    greeting = (reading.received, now)
    return inForce.gatewayAddress
  }
}

/// The numbers of the gateways' datagrams, which only rise.
struct PushNumbers {
  /// The last number of each gateway.
  private var last: [[UInt8]: UInt64] = [:]

  /// Whether a push is newer than those before, and can be used: without an address or an endpoint there is no tunnel.
  mutating func accept(_ push: SettingsPush, from gateway: [UInt8]) -> Bool {
    accept(push.number, from: gateway)
      && push.grant.gatewayKey == gateway && Endpoint(push.grant.endpoint) != nil && !push.grant.addresses.isEmpty
  }

  /// Whether a number is above those before.
  mutating func accept(_ number: UInt64, from gateway: [UInt8]) -> Bool {
    guard number > last[gateway] ?? 0 else { return false }
    last[gateway] = number
    return true
  }
}

extension LoginGrant {
  /// The gateway's own address in the tunnel, of the family of the device's first one.
  var gatewayAddress: IPAddress? {
    addresses.first.flatMap { own in gatewayAddresses.first { $0.family == own.family } }
  }
}
