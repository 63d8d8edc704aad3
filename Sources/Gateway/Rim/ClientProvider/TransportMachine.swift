package import NetworkTypes

/// The transport of datagrams to a gateway: by UDP, or through its relay by TCP. UDP is tried first, the relay only where nothing
/// answers, and UDP again and again while the relay is used (docs/decisions/0060). Readings and times go in, orders come out.
package struct TransportMachine: Sendable {
  /// The policy's choice of a transport: `transport` of the provider's options.
  package enum Preference: String, Sendable, CaseIterable {
    /// UDP, and TCP where UDP does not pass.
    case auto
    /// UDP alone.
    case udp
    /// TCP alone.
    case tcp
  }

  package enum Order: Equatable, Sendable {
    /// Begin a new session by UDP to this address.
    case connect(IPAddress)
    /// Open a relay at this address; `relayOpened` or `relayFailed` follows.
    case openRelay(IPAddress)
    case closeRelay
    /// Begin a new session through the open relay.
    case connectThroughRelay
    /// Send an initiation by UDP to this address, while the session goes on through the relay.
    case probe(IPAddress)
    /// Send an empty packet through the relay: it leads a gateway back that has heard the probe, and whose answer was lost.
    case nudge
    /// UDP works again: send to this address, in the session that is there.
    case returnToUDP(IPAddress)
    /// The gateway has answered, by transport`.
    case answered
    /// It answers by no transport.
    case silent
  }

  package enum Transport: Equatable, Sendable {
    case udp(IPAddress)
    case tcp(IPAddress)
  }

  /// A reading of the engine: the time of its last handshake in nanoseconds (0: none), and the number of handshake messages that have come
  /// to it through the relay.
  package struct Sight: Equatable, Sendable {
    package var handshake: UInt64
    package var relayed: UInt64

    package init(handshake: UInt64, relayed: UInt64) {
      self.handshake = handshake
      self.relayed = relayed
    }
  }

  private enum State: Equatable {
    case idle
    case tryingUDP(Int, again: Moment?, until: Moment)
    case opening(Int)
    case tryingRelay(Int, until: Moment)
    case connected(Transport)
    case probing(IPAddress, since: Sight, nudge: Moment?, until: Moment)
  }

  /// For an answer by UDP where there is no other transport. The engine repeats an initiation after 5 s.
  package static let onlyPatience = Duration.seconds(7)
  /// For an answer by UDP where there is a relay. After half of it another initiation is sent, because one may be lost.
  package static let patience = Duration.seconds(3)
  /// For an answer through an open relay.
  package static let relayPatience = Duration.seconds(5)
  /// For an answer to a probe: the engine then sends its next initiation through the relay.
  package static let probePatience = Duration.seconds(4)
  /// From a probe to the empty packet behind it.
  package static let nudgePause = Duration.seconds(1)
  /// From the connection to the first probe, and the longest time between two. Each is twice as long as the one before.
  package static let firstPause = Duration.seconds(10)
  package static let longestPause = Duration.seconds(120)
  /// A return to UDP that does not hold for this long makes the next one come later.
  package static let trial = Duration.seconds(120)
  package static let cautiousPause = Duration.seconds(60)

  private let preference: Preference
  let hasRelay: Bool
  private var addresses: [IPAddress] = []
  private var state = State.idle
  private var pause = Self.firstPause
  private var probeAt: Moment?
  private var returned: Moment?

  package init(_ preference: Preference, hasRelay: Bool) {
    self.preference = preference
    self.hasRelay = hasRelay && preference != .udp
  }

  /// The transport by which the gateway is connected; `nil`: it is sought.
  package var transport: Transport? {
    switch state {
    case .connected(let transport): transport
    case .probing(let address, _, _, _): .tcp(address)
    case .idle, .tryingUDP, .opening, .tryingRelay: nil
    }
  }

  /// When `look` has something to do next; `nil`: not by time.
  package var deadline: Moment? {
    switch state {
    case .idle, .opening: nil
    case .tryingUDP(_, let again, let until): again ?? until
    case .tryingRelay(_, let until): until
    case .probing(_, _, let nudge, let until): nudge ?? until
    case .connected: probeAt
    }
  }

  /// Whether an answer is awaited, so that the engine is looked at often.
  package var isAwaiting: Bool {
    switch state {
    case .tryingUDP, .tryingRelay, .probing: true
    case .idle, .opening, .connected: false
    }
  }

  /// Seeks the gateway at these addresses, with a new session. `isLater`: it was connected before.
  package mutating func begin(_ addresses: [IPAddress], at now: Moment) -> [Order] {
    let wasOnTrial = returned.map { now - $0 < Self.trial } ?? false
    pause = wasOnTrial ? Self.cautiousPause : Self.firstPause
    (self.addresses, probeAt, returned) = (addresses, nil, nil)
    return preference == .tcp ? openRelay(0) : [.closeRelay] + tryUDP(0, at: now)
  }

  package mutating func stop() { state = .idle }

  package mutating func relayOpened(at now: Moment) -> [Order] {
    guard case .opening(let index) = state else { return [] }
    state = .tryingRelay(index, until: now + Self.relayPatience)
    return [.connectThroughRelay]
  }

  /// The relay cannot be opened, or has ended.
  package mutating func relayFailed(at now: Moment) -> [Order] {
    switch state {
    case .opening(let index), .tryingRelay(let index, _): return openRelay(index + 1)
    case .connected(.tcp), .probing: return begin(addresses, at: now)
    case .idle, .tryingUDP, .connected(.udp): return []
    }
  }

  package mutating func look(_ sight: Sight, at now: Moment) -> [Order] {
    switch state {
    case .tryingUDP(let index, let again, let until):
      if sight.handshake > 0 { return connect(.udp(addresses[index]), at: now) }
      if now >= until { return tryUDP(index + 1, at: now) }
      guard let again, now >= again else { return [] }
      state = .tryingUDP(index, again: nil, until: until)
      return [.connect(addresses[index])]
    case .tryingRelay(let index, let until):
      if sight.handshake > 0 { return connect(.tcp(addresses[index]), at: now) }
      return now >= until ? openRelay(index + 1) : []
    case .connected(.tcp(let address)):
      guard let probeAt, now >= probeAt else { return [] }
      state = .probing(address, since: sight, nudge: now + Self.nudgePause, until: now + Self.probePatience)
      return [.probe(address)]
    case .probing(let address, let since, let nudge, let until):
      // A handshake of which the relay has carried no message.
      if sight.handshake > since.handshake, sight.relayed == since.relayed {
        state = .connected(.udp(address))
        (returned, probeAt) = (now, nil)
        return [.returnToUDP(address), .closeRelay, .answered]
      }
      guard now >= until else {
        guard let nudge, now >= nudge else { return [] }
        state = .probing(address, since: since, nudge: nil, until: until)
        return [.nudge]
      }
      state = .connected(.tcp(address))
      pause = min(pause * 2, Self.longestPause)
      probeAt = now + pause
      return []
    case .idle, .opening, .connected(.udp): return []
    }
  }

  private mutating func connect(_ transport: Transport, at now: Moment) -> [Order] {
    state = .connected(transport)
    if case .tcp = transport, preference == .auto { probeAt = now + pause }
    return [.answered]
  }

  private mutating func tryUDP(_ index: Int, at now: Moment) -> [Order] {
    guard index < addresses.count else { return openRelay(0) }
    let patience = hasRelay ? Self.patience : Self.onlyPatience
    state = .tryingUDP(index, again: hasRelay ? now + patience / 2 : nil, until: now + patience)
    return [.connect(addresses[index])]
  }

  private mutating func openRelay(_ index: Int) -> [Order] {
    guard hasRelay, index < addresses.count else {
      state = .idle
      return [.closeRelay, .silent]
    }
    state = .opening(index)
    return [.closeRelay, .openRelay(addresses[index])]
  }
}
