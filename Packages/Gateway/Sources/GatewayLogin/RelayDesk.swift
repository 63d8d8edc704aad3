package import LoginProtocol
package import NetworkTypes

/// All relays at once: a bounded number of each source, and how long each may be silent, idle or slow. It has no clock and no sockets.
///
/// A stranger can begin a relay. One counts as proven when the gateway's WireGuard has answered an initiation that came through it, which
/// it does for its peers alone. Until then it is one of few, for seconds.
package struct RelayDesk: Sendable {
  /// The version of relays.
  package static let version: UInt8 = 1
  /// The most relays, and those of one source (an IPv4 address, or an IPv6 /64).
  package static let capacity = 500
  package static let capacityOfSource = 64
  /// The same for those that are not proven.
  package static let strangers = 100
  package static let strangersOfSource = 16

  /// Until a relay is proven. WireGuard repeats an initiation after 5 s.
  package static let proof = Duration.seconds(15)
  /// Without a byte from the client, whose keepalives are 25 s apart.
  package static let idle = Duration.seconds(120)
  /// With bytes that the client does not take.
  package static let slow = Duration.seconds(30)
  /// Between two looks for what has taken too long.
  package static let interval = Duration.seconds(5)

  private struct Relay {
    let source: IPPrefix
    let began: Moment
    var heard: Moment
    var isProven = false
    /// Since when bytes wait that the client does not take.
    var stuck: Moment?
  }

  private struct Count {
    var all = 0
    var strangers = 0
  }

  private var relays: [UInt32: Relay] = [:]
  private var counts: [IPPrefix: Count] = [:]
  private var total = Count()

  package init() {}

  package var count: Int { total.all }
  package var unproven: Int { total.strangers }

  /// Takes a relay; `false` if there are too many.
  package mutating func open(_ number: UInt32, from address: IPAddress, at now: Moment) -> Bool {
    let source = LoginLimits.place(of: address)
    let here = counts[source] ?? Count()
    guard relays[number] == nil, total.all < Self.capacity, total.strangers < Self.strangers, here.all < Self.capacityOfSource,
      here.strangers < Self.strangersOfSource
    else { return false }
    relays[number] = Relay(source: source, began: now, heard: now)
    add(1, 1, to: source)
    return true
  }

  package mutating func close(_ number: UInt32) {
    guard let relay = relays.removeValue(forKey: number) else { return }
    add(-1, relay.isProven ? 0 : -1, to: relay.source)
  }

  /// The client has sent something.
  package mutating func heard(_ number: UInt32, at now: Moment) { relays[number]?.heard = now }

  /// WireGuard has sent a datagram to the client.
  package mutating func answered(_ number: UInt32, by kind: RelayFrame.Kind) {
    // Data may still be meant for a client before this one.
    guard kind == .response, let relay = relays[number], !relay.isProven else { return }
    relays[number]?.isProven = true
    add(0, -1, to: relay.source)
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
    relays.filter { _, relay in
      (!relay.isProven && now - relay.began >= Self.proof) || now - relay.heard >= Self.idle
        || relay.stuck.map { now - $0 >= Self.slow } ?? false
    }.keys.sorted()
  }

  private mutating func add(_ all: Int, _ strangers: Int, to source: IPPrefix) {
    var count = counts[source] ?? Count()
    count.all += all
    count.strangers += strangers
    counts[source] = count.all > 0 ? count : nil
    total.all += all
    total.strangers += strangers
  }
}
