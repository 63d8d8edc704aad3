internal import NetworkTypes

/// Whether a gateway that has answered still does. A peer that gets data answers within ten seconds, if only by an empty packet: so data
/// without anything back is lost. Keepalives are not answered, but they are short, and each two minutes a handshake is.
struct PeerWatch {
  /// More than the keepalives between two handshakes.
  private static let keepalives: UInt64 = 256
  private static let patience = Duration.seconds(20)

  private var last = EngineReading()
  /// What was sent when something came last, or when the first unanswered data was seen.
  private var since: Moment?

  init() {}

  init(_ reading: EngineReading, at now: Moment) { last = reading }

  /// Until the next look: sooner while something is unanswered.
  var pause: Duration { since == nil ? .seconds(15) : .seconds(5) }

  mutating func isSilent(_ reading: EngineReading, at now: Moment) -> Bool {
    if reading.received != last.received {
      last = reading
      since = nil
      return false
    }
    guard reading.sent > last.sent + Self.keepalives else { return false }
    guard let since else {
      since = now
      return false
    }
    return now - since >= Self.patience
  }
}
