package import KernelModel
package import NetworkTypes

/// The exchange of a gateway with the others of its key: the time of its next note that it is there, the endpoints that it has read, and
/// the devices that it begins sessions with after a take-over.
package struct PairExchange {
  /// The name of this gateway.
  package let gateway: String
  private var ledger: EndpointLedger
  /// The version of the last endpoint that was read.
  package private(set) var seen: Int64 = 0
  private var nextNote: Moment?
  /// Addresses of devices to begin sessions with, the next ones last.
  private var waiting: [IPAddress] = []

  /// Between two notes in the store that this gateway is there.
  package static let noteInterval = Duration.seconds(60)
  /// So many handshakes at once, then a pause in which the loop does other work.
  package static let batch = 32

  package init(gateway: String) {
    self.gateway = gateway
    ledger = EndpointLedger(gateway: gateway)
  }

  /// Whether it is time to note that this gateway is there.
  package func isNoteDue(at now: Moment) -> Bool { nextNote.map { $0 <= now } ?? true }

  /// The store has the note.
  package mutating func recorded(at now: Moment) { nextNote = now + Self.noteInterval }

  /// Takes the endpoints that were read, up to a version.
  package mutating func learn(_ endpoints: [LastEndpoint], version: Int64) {
    ledger.learn(endpoints)
    seen = version
  }

  /// The store has what `notes` returned.
  package mutating func learn(own notes: [LastEndpoint]) { ledger.learn(notes) }

  /// The endpoints of this gateway's peers that have to be written to the store.
  package func notes(of peers: [WireGuardState.Peer]) -> [LastEndpoint] { ledger.notes(of: peers) }

  /// The endpoints that peers of this gateway should have: the other one's handshake was later.
  package func missing(in peers: [WireGuardState.Peer]) -> [WireGuardKey: Endpoint] { ledger.missing(in: peers) }

  /// This gateway has the address that clients connect to now: `takeBatch` has the devices from here on. Returns the number of those
  /// that had a session with another gateway lately, and the peers whose sessions here the devices do not use any more.
  package mutating func takeOver(
    _ peers: [WireGuardState.Peer], _ directory: Directory, at now: Timestamp
  ) -> (count: Int, outdated: Set<WireGuardKey>) {
    let moved = ledger.moved(in: peers, at: now)
    waiting = directory.devices.values.filter { moved.all.contains($0.publicKey) }.compactMap { directory.addresses(of: $0.id).first }
    return (moved.all.count, moved.outdated)
  }

  /// Takes the next devices to begin sessions with; none: that is done.
  package mutating func takeBatch() -> [IPAddress] {
    let next = Array(waiting.suffix(Self.batch))
    waiting.removeLast(next.count)
    return next
  }
}
