internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// A WireGuard device that is wanted, with what is known of its endpoints and of its sessions.
struct RunningDevice {
  /// The progress of the peers' verification on this network.
  enum Verification {
    /// No answer is awaited, or it need not be asked for again.
    case none
    /// The endpoints are those of the last network until a look-up ends: a handshake is one of that network.
    case awaitsEndpoints
    /// The peers are being asked, and asked again.
    case repeats(SessionRenewals)
  }

  /// The device, with its endpoints resolved; those of an armed tunnel may be unknown.
  var device: WireGuardDevice
  /// The program that has the port of the configuration.
  var portHolder: PortHolder?
  /// Whether peers need new sessions, by a step of the next plan. Until then no handshake of the device counts as an answer.
  var wantsNewSessions = false
  private(set) var verification = Verification.none
  /// The look-up that is under way.
  var round: EndpointRound?
  /// Present while an endpoint has its last address because its name did not resolve on this network.
  var staleNames: StaleNames?
  /// The name servers that the last look-up of an armed tunnel asked.
  var askedServers: [IPAddress]?

  init(_ device: WireGuardDevice, portHolder: PortHolder? = nil) {
    self.device = device
    self.portHolder = portHolder
  }

  /// The next plan removes the device's sessions, so every later handshake is an answer.
  mutating func beginSessions(at now: Moment) {
    let renewals = if case .repeats(let renewals) = verification { renewals } else { SessionRenewals() }
    verification = .repeats(renewals.next(at: now))
    wantsNewSessions = true
  }

  /// The next plan removes the device's sessions, and no peer is asked.
  mutating func endSessions() {
    round = nil
    verification = .none
    wantsNewSessions = true
  }

  /// Begins sessions with the known endpoints, as the first attempt.
  mutating func renewSessions(at now: Moment) {
    endSessions()
    beginSessions(at: now)
  }

  /// The endpoints are those of another network until a look-up ends.
  mutating func awaitEndpoints() {
    round = nil
    verification = .awaitsEndpoints
    staleNames = nil
  }

  /// The peers have answered, or are not asked any more.
  mutating func endRepeats() { if case .repeats = verification { verification = .none } }

  /// Takes the peers that a look-up has found. Returns whether a pass is due.
  mutating func end(_ round: EndpointRound, with peers: [WireGuardPeer], at now: Moment) -> Bool {
    let isSame = device.peers == peers
    self.round = nil
    device.peers = peers
    staleNames = round.areStale ? (staleNames ?? StaleNames()).next(at: now) : nil
    switch round.purpose {
    case .start: break
    case .open, .roam: beginSessions(at: now)
    case .refresh: if !isSame { beginSessions(at: now) }
    case .quiet: if !isSame { wantsNewSessions = true }
    }
    // The timer of names that are resolved again is set by the next pass.
    return round.purpose == .roam || !isSame || staleNames != nil
  }

  var awaitsEndpoints: Bool { if case .awaitsEndpoints = verification { true } else { false } }

  /// Whether unanswered sessions are to begin again.
  func isRepeatDue(at now: Moment) -> Bool {
    if case .repeats(let renewals) = verification, let due = renewals.due { due <= now } else { false }
  }

  func isAnswered(by state: WireGuardState?) -> Bool { !awaitsEndpoints && !wantsNewSessions && state?.lastHandshake != nil }

  /// The addresses of the endpoints on this network.
  var endpoints: [(address: IPAddress, port: UInt16)] {
    awaitsEndpoints ? [] : device.peers.compactMap { peer in peer.endpoint.flatMap { end in end.address.map { ($0, end.port) } } }
  }
}

/// The times at which to repeat unanswered new sessions: after one second, two, four, and so on. A lossy network gets many attempts, and
/// one with a long delay gets time for each.
struct SessionRenewals {
  private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(4)]
  private(set) var due: Moment?
  private var count = 0

  func next(at now: Moment) -> SessionRenewals {
    var next = self
    next.due = now + Self.pauses[count % Self.pauses.count]
    next.count += 1
    return next
  }
}
