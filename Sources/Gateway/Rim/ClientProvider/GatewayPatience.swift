/// The client's time limits and pauses.
enum GatewayPatience {
  /// Another program that has the device gives it up sooner.
  static let device = Duration.seconds(3)
  static let look = Duration.milliseconds(100)
  /// Until the next look at an engine whose gateway was asked so long ago: an answer is seen an eighth of its time late, and at least a
  /// millisecond.
  static func look(after asked: Duration) -> Duration { min(look, max(.milliseconds(1), asked / 8)) }
  /// Between the beginnings of two searches, which may fail at once.
  static let round = Duration.seconds(2)
  /// A search of a tunnel that was up is told after so long.
  static let tell = Duration.seconds(5)
  /// A tunnel that was up fails after so long without the gateway.
  static let loss = Duration.seconds(30)
  /// The most addresses of a name that are tried: a start has to be ready within a minute.
  static let addresses = 3
  /// While an answer is awaited: it makes the handshake.
  static let keepalive: UInt16 = 25
}
