package import NetworkTypes

/// Whether the server of a connection still answers, by the bytes that openvpn(8) counts on the wire.
///
/// openvpn itself waits for the server's `ping-restart`, which is a minute or two with most servers. A server whose pings were promised is
/// silent when two of them are missing; any, when packets were sent all the while and nothing came back.
package struct ServerSilence: Sendable {
  /// Until the next look: while nothing passes, while packets pass in both directions, and while what is sent has no answer.
  private static let (idlePause, busyPause, doubtfulPause) = (Duration.seconds(10), Duration.seconds(5), Duration.seconds(2))
  /// From the last byte that came, or the first packet without an answer, to the verdict. With the looks it comes within 25 seconds.
  private static let patience = Duration.seconds(16)
  /// Looks that show packets out and none in: they may be a program's that expects no answer.
  private static let leastLooks = 6

  /// Between two pings of the server; `nil`: it has promised none.
  private let pings: Duration?
  private var last: (received: UInt64, sent: UInt64, at: Moment)?
  private var heardAt: Moment?
  /// Packets without an answer: since when, and in how many looks.
  private var unanswered: (since: Moment, looks: Int)?
  /// Verdicts in a row: each doubles the time in which packets may have no answer.
  private var losses = 0
  /// Until the next look.
  package private(set) var pause = Self.busyPause

  /// - Parameter pings: seconds between two pings of the server, as it has promised; `nil`: none.
  package init(pings: Int? = nil) { self.pings = pings.map { .seconds($0) } }

  /// A new connection of the same run.
  package mutating func begin(pings: Int?) {
    let losses = losses
    self = ServerSilence(pings: pings)
    self.losses = losses
  }

  /// Takes what openvpn has counted. Returns for how long the server has been silent, once that means that it answers no more.
  package mutating func take(received: UInt64, sent: UInt64, at now: Moment) -> Duration? {
    defer { last = (received, sent, now) }
    guard let last, let heardAt, received == last.received else {
      if last != nil { losses = 0 }
      (heardAt, unanswered, pause) = (now, nil, Self.busyPause)
      return nil
    }
    if sent != last.sent { unanswered = (unanswered?.since ?? last.at, (unanswered?.looks ?? 0) + 1) }
    pause = unanswered == nil ? Self.idlePause : Self.doubtfulPause
    guard let since = silentSince(heardAt, at: now) else { return nil }
    losses += 1
    (self.heardAt, unanswered) = (nil, nil)
    return now - since
  }

  private func silentSince(_ heardAt: Moment, at now: Moment) -> Moment? {
    if let pings, unanswered != nil, now - heardAt >= max(Self.patience, pings * 2) { return heardAt }
    guard let unanswered, unanswered.looks >= Self.leastLooks, now - unanswered.since >= Self.patience * (1 << min(losses, 6)) else {
      return nil
    }
    return unanswered.since
  }
}
