package import NetworkTypes

/// Whether the server of a connection still answers, by the bytes that openvpn(8) counts on the wire.
///
/// openvpn itself waits for the server's `ping-restart`, which is a minute or two with most servers. A server whose pings were promised is
/// silent when two of them are missing; any, when packets were sent all the while and nothing came back.
package struct ServerSilence: Sendable {
  /// Seconds between two counts.
  package static let interval = 2
  /// From the last byte that came to the verdict. With the interval it leaves time for openvpn to tell within 25 seconds.
  private static let patience = Duration.seconds(18)
  /// Counts with packets out and none in: they may be a program's that expects no answer.
  private static let leastCounts = 6

  /// Between two pings of the server; `nil`: it has promised none.
  private let pings: Duration?
  private var last: (bytesIn: UInt64, bytesOut: UInt64)?
  private var heardAt: Moment?
  private var unanswered = 0
  /// Verdicts in a row: each doubles the time in which packets may have no answer.
  private var losses = 0

  /// - Parameter pings: seconds between two pings of the server, as it has promised; `nil`: none.
  package init(pings: Int? = nil) { self.pings = pings.map { .seconds($0) } }

  /// A new connection of the same run.
  package mutating func begin(pings: Int?) {
    let losses = losses
    self = ServerSilence(pings: pings)
    self.losses = losses
  }

  /// Takes what openvpn has counted. Returns for how long the server has been silent, once that means that it answers no more.
  package mutating func take(bytesIn: UInt64, bytesOut: UInt64, at now: Moment) -> Duration? {
    defer { last = (bytesIn, bytesOut) }
    guard let last, let heardAt, bytesIn == last.bytesIn else {
      if last != nil { losses = 0 }
      (heardAt, unanswered) = (now, 0)
      return nil
    }
    if bytesOut != last.bytesOut { unanswered += 1 }
    let silence = now - heardAt
    let ofPings = pings.map { max(Self.patience, $0 * 2) }
    let ofPackets = unanswered >= Self.leastCounts ? Self.patience * (1 << min(losses, 6)) : nil
    guard let patience = [ofPings, ofPackets].compactMap(\.self).min(), silence >= patience else { return nil }
    losses += 1
    (self.heardAt, unanswered) = (nil, 0)
    return silence
  }
}
