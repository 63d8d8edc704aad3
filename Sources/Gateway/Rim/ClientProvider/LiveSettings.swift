internal import LoginProtocol
internal import NetworkTypes

/// The gateway's settings during a run: those in force, and those that come while it is connected.
struct LiveSettings {
  /// Those that the agent has applied last, or has refused.
  var inForce: LoginGrant?
  /// Whether an answer of the agent to changed ones is awaited; and whether the tunnel is ready then.
  var isApplying = false
  var isReadyDue = false
  /// Whether the device changes over to another gateway, whose settings are not in force yet.
  var isMoving = false
  /// The last number of each gateway.
  private var lastNumbers: [[UInt8]: UInt64] = [:]
  private var greeting: (received: UInt64, at: Moment)?

  /// More bytes than a handshake and the keepalives of a session without data: those are no reason to greet, or greetings would never end.
  private static let quiet: UInt64 = 256
  /// The gateway is greeted so often without data, and at most so often with it.
  static let idlePause = Duration.seconds(600)
  private static let pause = Duration.seconds(15)
  /// The bytes that WireGuard, IP, UDP and padding add to a datagram.
  private static let overhead: UInt64 = 96

  /// Whether a push with the right seal is newer than those before, and can be used: without an address or an endpoint there is no tunnel.
  mutating func accept(_ push: SettingsPush, from gateway: [UInt8]) -> Bool {
    accept(push.number, from: gateway)
      && push.grant.gatewayKey == gateway && Endpoint(push.grant.endpoint) != nil && !push.grant.addresses.isEmpty
  }

  /// Whether a number is above those before.
  mutating func accept(_ number: UInt64, from gateway: [UInt8]) -> Bool {
    guard number > lastNumbers[gateway] ?? 0 else { return false }
    lastNumbers[gateway] = number
    return true
  }

  /// A gateway that has just answered may have changed something meanwhile. (The engine counts anew then.)
  mutating func greetAgain() { greeting = nil }

  /// Leaves a datagram of the gateway itself out of account: it is no reason to greet it.
  mutating func disregard(_ datagram: [UInt8]) { greeting?.received += UInt64(datagram.count) + Self.overhead }

  /// When the gateway may be greeted next; `nil`: it is time already.
  func nextGreeting(after now: Moment) -> Moment? { greeting.map { $0.at + Self.pause }.flatMap { $0 > now ? $0 : nil } }

  /// Whether the gateway is to be greeted now.
  mutating func isGreetingDue(_ reading: EngineReading, at now: Moment) -> Bool {
    if let greeting {
      let pause = reading.received > greeting.received + Self.quiet ? Self.pause : Self.idlePause
      guard now - greeting.at >= pause else { return false }
    }
    greeting = (reading.received, now)
    return true
  }
}
