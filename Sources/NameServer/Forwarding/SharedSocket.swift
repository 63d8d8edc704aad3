internal import NetworkTypes

/// The socket of the last question, for the next ones of the same moment.
struct SharedSocket: Sendable {
  /// The questions in a row that one socket takes.
  static let most = 8

  private var pool: UInt16 = 0
  private var family = IPAddress.Family.v4
  private var moment = Moment(nanoseconds: 0)
  private var socket: UInt16 = 0
  private var left = 0

  /// The socket for a question: the last one's, if it began at the same moment, else `drawn`.
  mutating func socket(of pool: UInt16, _ family: IPAddress.Family, at now: Moment, orElse drawn: UInt16) -> UInt16 {
    if left > 0, now == moment, pool == self.pool, family == self.family {
      left -= 1
      return socket
    }
    (self.pool, self.family, moment, socket, left) = (pool, family, now, drawn, Self.most - 1)
    return drawn
  }

  mutating func forget() { left = 0 }
}
