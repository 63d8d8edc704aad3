public import NetworkTypes

/// The two clocks that the engine is told of: one that never steps, for every timer; and the wall's, for the timestamp in an initiation
/// and the time of the last handshake that wg(8) shows.
public struct EngineTime: Hashable, Sendable {
  /// Of the clock that never steps, and that goes on while the machine sleeps.
  public let moment: Moment
  /// Since 1970, without leap seconds.
  public let wallSeconds: Int64
  /// 0 to 999,999,999.
  public let wallNanoseconds: UInt32

  public init(moment: Moment, wallSeconds: Int64, wallNanoseconds: UInt32) {
    self.moment = moment
    self.wallSeconds = wallSeconds
    self.wallNanoseconds = wallNanoseconds
  }
}

/// Of a clock that may be read by two threads in the other order: never negative.
@inline(__always)
func elapsed(since then: UInt64, at now: UInt64) -> UInt64 { now > then ? now - then : 0 }
