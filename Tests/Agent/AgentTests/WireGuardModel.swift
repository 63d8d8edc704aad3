import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import Simulation

/// A gateway and the way to it, by WireGuard's timers (`timers.c` of the kernel's, section 6 of the paper), in virtual time and without
/// cryptography: who sends which message when, and what the counters show.
final class WireGuardModel: SimulatedPeers {
  enum Message: Hashable {
    case initiation(session: Int)
    case response(session: Int)
    /// Bytes of the inner packet; 0: a keepalive.
    case data(Int, session: Int)

    var bytes: UInt64 {
      switch self {
      case .initiation: 148
      case .response: 92
      // Padded to 16 bytes, though not beyond the MTU.
      case .data(let bytes, _): 32 + UInt64(min(1420, (bytes + 15) / 16 * 16))
      }
    }
  }

  /// The chance of a message to be lost, to the gateway and from it; 1: nothing comes through.
  var loss = (to: 0.0, from: 0.0)
  /// One way.
  var latency = Duration.milliseconds(20)
  /// The size of the packet that the gateway's side sends back for a packet of so many bytes; `nil`: none.
  var reply: (Int) -> Int? = { $0 }
  private(set) var laptop: WireGuardEnd
  private(set) var gateway: WireGuardEnd
  private var random: SplitMix64
  private var now = Moment(nanoseconds: 0)
  private var flights: [(at: Moment, isToGateway: Bool, message: Message)] = []
  /// Packets that the laptop will send, the next last.
  private var traffic: [(at: Moment, bytes: Int)] = []
  /// When the first data packet was sent that nothing has answered, whatever is received; for tests that know that the gateway is dead.
  private(set) var sent: [Moment] = []
  private var isConfigured = false
  /// Whether programs send also while no session exists or is asked for: then their first packet asks for one.
  var sendsFirstPackets = false
  /// Called when a program sends a packet into the tunnel.
  var whenSent: () -> Void = {}
  /// Called when a packet for programs comes out of the tunnel.
  var whenArrived: () -> Void = {}
  /// Called for each datagram that the laptop sends.
  var whenLaunched: () -> Void = {}

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    laptop = WireGuardEnd(seed: seed &* 2 &+ 1, knowsEndpoint: true)
    gateway = WireGuardEnd(seed: seed &* 2 &+ 2, knowsEndpoint: false)
  }

  /// The laptop sends a packet of so many bytes into the tunnel at each of these moments.
  func send(_ bytes: Int, at moments: [Moment]) {
    traffic = (traffic + moments.map { ($0, bytes) }).sorted { $0.at > $1.at }
  }

  var nextEvent: Moment? {
    [flights.map(\.at).min(), traffic.last?.at, isConfigured ? laptop.nextTimer : nil, gateway.nextTimer].compactMap { $0 }.min()
  }

  func advance(to end: Moment) {
    while let next = nextEvent, next <= end {
      now = max(now, next)
      if let packet = traffic.last, packet.at <= now {
        traffic.removeLast()
        guard isConfigured, sendsFirstPackets || laptop.sessionID != nil || laptop.isAsking else { continue }
        sent.append(now)
        whenSent()
        launch(laptop.send(packet.bytes, at: now), isToGateway: true)
      } else if let i = flights.indices.filter({ flights[$0].at <= now }).min(by: { flights[$0].at < flights[$1].at }) {
        let flight = flights.remove(at: i)
        arrive(flight.message, isToGateway: flight.isToGateway)
      } else if isConfigured, let timer = laptop.nextTimer, timer <= now {
        launch(laptop.runTimers(at: now), isToGateway: true)
      } else {
        launch(gateway.runTimers(at: now), isToGateway: false)
      }
    }
    now = max(now, end)
  }

  private func arrive(_ message: Message, isToGateway: Bool) {
    guard isToGateway else {
      if case .data(let bytes, _) = message, bytes > 0, isConfigured { whenArrived() }
      if isConfigured { launch(laptop.receive(message, at: now), isToGateway: true) }
      return
    }
    launch(gateway.receive(message, at: now), isToGateway: false)
    if case .data(let bytes, _) = message, bytes > 0, let answer = reply(bytes) {
      launch(gateway.send(answer, at: now), isToGateway: false)
    }
  }

  private func launch(_ messages: [Message], isToGateway: Bool) {
    if isToGateway { for _ in messages { whenLaunched() } }
    for message in messages where random.unit() >= (isToGateway ? loss.to : loss.from) {
      flights.append((now + latency, isToGateway, message))
    }
  }

  // MARK: The machine's side

  func configure(_ link: String, _ device: WireGuardDevice, anew: Bool, at now: Moment) {
    advance(to: now)
    self.now = now
    // Without peers, a device sends nothing and takes nothing.
    if anew || !isConfigured || device.peers.isEmpty { laptop.reset() }
    isConfigured = !device.peers.isEmpty
    guard isConfigured else { return }
    launch(laptop.setKeepalive(device.peers.first?.persistentKeepalive ?? 0, at: now), isToGateway: true)
  }

  func remove(_ link: String) {
    isConfigured = false
    laptop.reset()
  }

  func sleep(for time: Duration, from now: Moment) {
    advance(to: now)
    laptop.delayTimers(by: time)
    // Packets that arrive meanwhile are lost, and nobody sends.
    let wake = now + time
    traffic.removeAll { $0.at <= wake }
    let before = laptop
    let isThere = isConfigured
    isConfigured = false
    advance(to: wake)
    flights.removeAll { !$0.isToGateway && $0.at <= wake }
    laptop = before
    isConfigured = isThere
  }

  func show(_ link: String, _ device: inout WireGuardState) {
    for i in device.peers.indices {
      device.peers[i].lastHandshake = laptop.lastHandshake
      device.peers[i].receivedBytes = laptop.received
      device.peers[i].sentBytes = laptop.sent
    }
  }
}

/// One end of a WireGuard session.
struct WireGuardEnd {
  private struct Session {
    let id: Int
    let begun: Moment
    let isInitiator: Bool
  }

  private(set) var sent: UInt64 = 0
  private(set) var received: UInt64 = 0
  private(set) var lastHandshake: Int64 = 0
  private var knowsEndpoint: Bool
  private let isAlwaysReachable: Bool
  private var current: Session?
  private var previous: Session?
  private var next: Session?
  private var asking: Int?
  private var lastInitiation: Moment?
  private var attempts = 0
  private var staged: [Int] = []
  private var keepalive: UInt16 = 0
  private var random: SplitMix64
  private var ids: Int
  private var newHandshakeAt: Moment?
  private var retransmitAt: Moment?
  private var passiveAt: Moment?
  private var persistentAt: Moment?
  private var needsAnotherKeepalive = false

  init(seed: UInt64, knowsEndpoint: Bool) {
    random = SplitMix64(seed: seed)
    self.knowsEndpoint = knowsEndpoint
    isAlwaysReachable = knowsEndpoint
    ids = knowsEndpoint ? 0 : 1_000_000
  }

  var sessionID: Int? { current?.id }
  var isAsking: Bool { asking != nil }
  var nextTimer: Moment? { [newHandshakeAt, retransmitAt, passiveAt, persistentAt].compactMap { $0 }.min() }

  mutating func reset() {
    let (random, ids) = (random, ids)
    self = Self(seed: 0, knowsEndpoint: isAlwaysReachable)
    (self.random, self.ids) = (random, ids)
  }

  mutating func setKeepalive(_ seconds: UInt16, at now: Moment) -> [WireGuardModel.Message] {
    defer { keepalive = seconds }
    guard seconds > 0, keepalive == 0 else {
      persistentAt = seconds == 0 ? nil : persistentAt
      return []
    }
    keepalive = seconds
    return transmit(0, at: now)
  }

  mutating func delayTimers(by time: Duration) {
    newHandshakeAt = newHandshakeAt.map { $0 + time }
    retransmitAt = retransmitAt.map { $0 + time }
    passiveAt = passiveAt.map { $0 + time }
    persistentAt = persistentAt.map { $0 + time }
  }

  mutating func send(_ bytes: Int, at now: Moment) -> [WireGuardModel.Message] { transmit(bytes, at: now) }

  mutating func receive(_ message: WireGuardModel.Message, at now: Moment) -> [WireGuardModel.Message] {
    switch message {
    case .initiation(let id):
      knowsEndpoint = true
      next = Session(id: id, begun: now, isInitiator: false)
      heard(message, at: now)
      return [count(.response(session: id), at: now)]
    case .response(let id):
      guard asking == id else { return [] }
      asking = nil
      retransmitAt = nil
      attempts = 0
      previous = current
      current = Session(id: id, begun: now, isInitiator: true)
      complete(at: now)
      heard(message, at: now)
      let packets = staged.isEmpty ? [0] : staged
      staged = []
      return packets.flatMap { transmit($0, at: now) }
    case .data(let bytes, let id):
      if let new = next, new.id == id {
        (previous, current, next) = (current, new, nil)
        complete(at: now)
      }
      guard let session = [current, previous].compactMap({ $0 }).first(where: { $0.id == id }), isAlive(session, at: now) else { return [] }
      heard(message, at: now)
      if bytes > 0 {
        if passiveAt == nil { passiveAt = now + .seconds(10) } else { needsAnotherKeepalive = true }
      }
      return []
    }
  }

  mutating func runTimers(at now: Moment) -> [WireGuardModel.Message] {
    var messages: [WireGuardModel.Message] = []
    if let due = newHandshakeAt, due <= now {
      newHandshakeAt = nil
      messages += initiate(at: now)
    }
    if let due = retransmitAt, due <= now {
      retransmitAt = nil
      if attempts > 18 {
        staged = []
        asking = nil
        attempts = 0
      } else {
        attempts += 1
        lastInitiation = nil
        messages += initiate(at: now)
      }
    }
    if let due = passiveAt, due <= now {
      passiveAt = nil
      let isAnother = needsAnotherKeepalive
      messages += transmit(0, at: now)
      if isAnother { passiveAt = now + .seconds(10) }
      needsAnotherKeepalive = false
    }
    if let due = persistentAt, due <= now {
      persistentAt = keepalive == 0 ? nil : now + .seconds(Int64(keepalive))
      if keepalive > 0 { messages += transmit(0, at: now) }
    }
    return messages
  }

  /// A packet, or a keepalive, in a session that is alive; else it waits for one.
  private mutating func transmit(_ bytes: Int, at now: Moment) -> [WireGuardModel.Message] {
    guard knowsEndpoint else { return [] }
    guard let current, isAlive(current, at: now) else {
      if bytes > 0 { staged.append(bytes) }
      return initiate(at: now)
    }
    var messages = [count(.data(bytes, session: current.id), at: now)]
    if bytes > 0, newHandshakeAt == nil { newHandshakeAt = now + .seconds(15) + jitter() }
    if current.isInitiator, current.begun + .seconds(120) <= now { messages += initiate(at: now) }
    return messages
  }

  private mutating func initiate(at now: Moment) -> [WireGuardModel.Message] {
    guard knowsEndpoint, lastInitiation.map({ $0 + .seconds(5) <= now }) ?? true else { return [] }
    lastInitiation = now
    ids += 1
    asking = ids
    retransmitAt = now + .seconds(5) + jitter()
    return [count(.initiation(session: ids), at: now)]
  }

  private mutating func count(_ message: WireGuardModel.Message, at now: Moment) -> WireGuardModel.Message {
    sent += message.bytes
    passiveAt = nil
    if keepalive > 0 { persistentAt = now + .seconds(Int64(keepalive)) }
    return message
  }

  private mutating func heard(_ message: WireGuardModel.Message, at now: Moment) {
    received += message.bytes
    newHandshakeAt = nil
    if keepalive > 0 { persistentAt = now + .seconds(Int64(keepalive)) }
  }

  private mutating func complete(at now: Moment) {
    lastHandshake = 1_000_000 + Int64(now.nanoseconds / 1_000_000_000)
  }

  private func isAlive(_ session: Session, at now: Moment) -> Bool { now < session.begun + .seconds(180) }

  /// `REKEY_TIMEOUT_JITTER_MAX_JIFFIES`: up to a third of a second.
  private mutating func jitter() -> Duration { .milliseconds(Int64(random.unit() * 333)) }
}
