internal import NetworkTypes

/// Whether a gateway that has answered still does. A peer that gets data answers within ten seconds, if only by an empty packet: so data
/// without anything back is lost. Keepalives are not answered, but they are short, and each two minutes a handshake is.
struct PeerWatch {
  /// More than the keepalives between two handshakes.
  private static let keepalives: UInt64 = 256
  private static let patience = Duration.seconds(20)
  /// Where another gateway can be used instead. Its answer is due within ten seconds.
  private static let shortPatience = Duration.seconds(10)

  private var last = EngineReading()
  /// What was sent when something came last, or when the first unanswered data was seen.
  private var since: Moment?
  /// Whether something came between the last two looks.
  private var isMoving = false
  /// Whether another gateway can be used instead: then the looks are closer while there are packets.
  var hasAlternative = false

  /// Whether data is unanswered.
  var isSuspicious: Bool { since != nil }

  init() {}

  init(_ reading: EngineReading, at now: Moment) { last = reading }

  /// Until the next look: sooner while something is unanswered.
  var pause: Duration {
    if hasAlternative, since != nil || isMoving { return .seconds(2) }
    return since == nil ? .seconds(15) : .seconds(5)
  }

  mutating func isSilent(_ reading: EngineReading, at now: Moment) -> Bool {
    if reading.received != last.received {
      last = reading
      since = nil
      isMoving = true
      return false
    }
    isMoving = false
    guard reading.sent > last.sent + Self.keepalives else { return false }
    guard let since else {
      since = now
      return false
    }
    return now - since >= (hasAlternative ? Self.shortPatience : Self.patience)
  }
}
