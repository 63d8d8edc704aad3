import NetworkTypes

/// The latest time that this machine's clock has shown, also to earlier agents.
///
/// A WireGuard peer accepts no handshake that seems older than the last one (TAI64N, section 5.4.2 of its paper): a clock that was set
/// back keeps a tunnel from connecting.
struct LatestTime {
  /// A clock that is behind by less is one that was corrected: peers forget nothing, but the next handshake is soon late enough.
  private static let tolerance = Duration.seconds(60)

  private var latest: Timestamp?
  private var now: Timestamp?

  mutating func record(_ time: Timestamp) {
    now = time
    latest = max(latest ?? time, time)
  }

  /// By how much the clock is behind, with the time that it has shown; `nil`: it is not.
  var lag: (behind: Duration, latest: Timestamp)? {
    guard let now, let latest, latest - now >= Self.tolerance else { return nil }
    return (latest - now, latest)
  }
}
