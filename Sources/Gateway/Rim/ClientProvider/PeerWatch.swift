internal import NetworkTypes
internal import PeerDetection

/// Whether a gateway that has answered still does, by the engine's counters.
struct PeerWatch {
  /// The patience if another gateway can be used instead. The answer to data is due within ten seconds.
  private static let shortPatience = Duration.seconds(12)
  /// Until the next look, where another gateway can be used instead and packets pass.
  private static let shortPause = Duration.seconds(2)

  private var detector = DeadPeerDetector()
  private var last: EngineReading?
  /// The keepalive of the session, in seconds; 0: there is none.
  private let keepalive: UInt16
  /// Whether something passed between the last two looks.
  private var isMoving = false
  /// Whether another gateway can be used instead: then the looks are closer while there are packets.
  var hasAlternative = false

  init() { keepalive = 0 }

  init(_ reading: EngineReading, keepalive: UInt16, at now: Moment) {
    self.keepalive = keepalive
    _ = isSilent(reading, at: now)
  }

  /// Whether data is unanswered.
  var isSuspicious: Bool { detector.unansweredSince != nil }

  /// Until the next look.
  func pause(at now: Moment) -> Duration {
    let pause = max(.zero, (detector.nextSample ?? now) - now)
    return hasAlternative && (isSuspicious || isMoving) ? min(pause, Self.shortPause) : pause
  }

  /// Takes the counters in. Returns whether the gateway answers no more.
  mutating func isSilent(_ reading: EngineReading, at now: Moment) -> Bool {
    isMoving = last.map { $0.received != reading.received || $0.sent != reading.sent } ?? false
    last = reading
    detector.take(
      DeadPeerDetector.Sample(
        at: now, lastHandshake: Int64(clamping: reading.handshake), received: reading.received, sent: reading.sent,
        persistentKeepalive: keepalive))
    if detector.isSilent { return true }
    guard hasAlternative, let since = detector.unansweredSince else { return false }
    return now - since >= Self.shortPatience
  }

  /// For how long the gateway has not answered.
  func silence(at now: Moment) -> Duration { detector.unansweredSince.map { now - $0 } ?? .zero }
}
