public import NetworkTypes

/// The two clocks of the engine: a monotonic clock for every timer, and the wall clock for the timestamp in an initiation and the time of
/// the last handshake in wg(8).
public struct EngineTime: Hashable, Sendable {
  /// The monotonic clock, which continues while the machine sleeps.
  public let moment: Moment
  /// Seconds since 1970, without leap seconds.
  public let wallSeconds: Int64
  /// 0 to 999,999,999.
  public let wallNanoseconds: UInt32

  public init(moment: Moment, wallSeconds: Int64, wallNanoseconds: UInt32) {
    self.moment = moment
    self.wallSeconds = wallSeconds
    self.wallNanoseconds = wallNanoseconds
  }
}

/// The time between two readings of a clock. Two threads may read it in the opposite order: the result is never negative.
@inline(__always)
func elapsed(since then: UInt64, at now: UInt64) -> UInt64 { now > then ? now - then : 0 }
