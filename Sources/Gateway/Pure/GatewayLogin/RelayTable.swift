internal import GatewayCore
package import LoginProtocol
package import NetworkTypes

/// All relays at once: a bounded number of each source, and how long each may be silent, idle or slow. It has no clock and no sockets.
///
/// A stranger can begin a relay. One counts as proven when the gateway's WireGuard has answered an initiation that came through it, which
/// it does for its peers alone. Until then it is one of few, for seconds, and goes for a newcomer if it has to.
package struct RelayTable: Sendable {
  /// The version of relays.
  package static let version: UInt8 = 1
  /// The most relays of strangers, and those of one place (an IPv4 address, or an IPv6 /64). A newcomer takes the place of another one.
  package static let strangers = 100
  package static let strangersOfPlace = 16
  /// The most of devices, and all of one place. A stranger takes no device's place.
  package static let devices = 400
  package static let capacityOfPlace = 64
  package static let capacity = strangers + devices

  /// Until the client's first datagram.
  package static let silence = Duration.seconds(10)
  /// Until a relay is proven. WireGuard repeats an initiation after 5 s.
  package static let proof = Duration.seconds(15)
  /// Without a byte from the client, whose keepalives are 25 s apart.
  package static let idle = Duration.seconds(120)
  /// With bytes that the client does not take.
  package static let slow = Duration.seconds(30)
  /// Between two looks for what has taken too long.
  package static let interval = Duration.seconds(5)

  private struct Relay {
    let address: IPAddress
    let began: Moment
    var heard: Moment?
    /// Since when bytes wait that the client does not take.
    var stuck: Moment?
  }

  private var relays: [UInt32: Relay] = [:]
  private var unprovenRelays = ConnectionTable(limit: Self.strangers, limitOfPlace: Self.strangersOfPlace)
  private var provenRelays = ConnectionTable(limit: Self.devices, limitOfPlace: Self.capacityOfPlace)
  private var gone: [UInt32] = []

  package init() {}

  package var count: Int { relays.count }
  package var unproven: Int { unprovenRelays.count }

  /// Takes a relay; `false` if devices have all that this place may have.
  package mutating func open(_ number: UInt32, from address: IPAddress, at now: Moment) -> Bool {
    guard relays[number] == nil, provenRelays.count(at: address) < Self.capacityOfPlace else { return false }
    relays[number] = Relay(address: address, began: now)
    turnAway(unprovenRelays.add(number, from: address))
    return true
  }

  /// The relays that went for others since the last call, and are to be closed.
  package mutating func takeGone() -> [UInt32] {
    defer { gone = [] }
    return gone
  }

  private mutating func turnAway(_ victim: UInt32?) {
    guard let victim, relays[victim] != nil else { return }
    close(victim)
    gone.append(victim)
  }

  package mutating func close(_ number: UInt32) {
    relays[number] = nil
    unprovenRelays.remove(number)
    provenRelays.remove(number)
  }

  /// The client has sent something.
  package mutating func heard(_ number: UInt32, at now: Moment) {
    relays[number]?.heard = now
    unprovenRelays.raise(number, to: 1)
  }

  /// WireGuard has sent a datagram to the client.
  package mutating func answered(_ number: UInt32, by kind: RelayFrame.Kind) {
    // Data may still be meant for a client before this one.
    guard kind == .response, let relay = relays[number], unprovenRelays.contains(number) else { return }
    unprovenRelays.remove(number)
    turnAway(provenRelays.add(number, from: relay.address))
  }

  /// Whether bytes wait that the client has not taken. `progress`: it has taken some.
  package mutating func waits(_ number: UInt32, _ isWaiting: Bool, progress: Bool, at now: Moment) {
    guard isWaiting else {
      relays[number]?.stuck = nil
      return
    }
    if progress || relays[number]?.stuck == nil { relays[number]?.stuck = now }
  }

  /// The relays that are to be closed.
  package func expired(at now: Moment) -> [UInt32] {
    relays.filter { number, relay in
      let limit = provenRelays.contains(number) ? nil : relay.began + (relay.heard == nil ? Self.silence : Self.proof)
      return limit.map { $0 <= now } ?? false || now - (relay.heard ?? relay.began) >= Self.idle
        || relay.stuck.map { now - $0 >= Self.slow } ?? false
    }.keys.sorted()
  }
}
