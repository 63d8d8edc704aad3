package import NetworkTypes

/// The two clocks that the engine is told of: one that never steps, for every timer; and the wall's, for the timestamp in an initiation
/// and the time of the last handshake that wg(8) shows.
package struct EngineTime: Hashable, Sendable {
  package let moment: Moment
  /// Since 1970, without leap seconds.
  package let wallSeconds: Int64
  package let wallNanoseconds: UInt32

  package init(moment: Moment, wallSeconds: Int64, wallNanoseconds: UInt32) {
    self.moment = moment
    self.wallSeconds = wallSeconds
    self.wallNanoseconds = wallNanoseconds
  }
}

/// Of a clock that may be read by two threads in the other order: never negative.
@inline(__always)
func elapsed(since then: UInt64, at now: UInt64) -> UInt64 { now > then ? now - then : 0 }
