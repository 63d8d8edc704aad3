import NetworkTypes
import PeerDetection
import RoamwardCore

/// Notices the first packet into an armed tunnel, without a wake-up before it.
///
/// A packet only wakes the agent: the device then shows whether it began a session. If it did not (no endpoint, no network, an address of
/// no peer), the next one is noticed after a pause, ever longer, so that a program that keeps sending does not keep the agent busy.
struct PacketWatch {
  private static let pauses = Backoff(first: .milliseconds(125), longest: .seconds(20))

  private var watch: Cancellation?
  private var vain = 0
  /// When the device is looked at again; `nil`: at the next packet.
  private(set) var nextWatch: Moment?

  /// Begins to watch the link, unless it does already or has to pause. Where packets cannot be noticed, the device is looked at from time
  /// to time.
  mutating func watch(_ link: String, _ platform: Platform, _ came: @escaping () -> Void) {
    let now = platform.clock.now()
    guard watch == nil, nextWatch.map({ $0 <= now }) ?? true else { return }
    nextWatch = nil
    watch = platform.machine.watchPackets(link, .unicast, came)
    if watch == nil { nextWatch = now + DeadPeerDetector.idleInterval }
  }

  /// Ends the watch after a packet.
  mutating func packetCame(at now: Moment) {
    watch = nil
    vain += 1
    nextWatch = now + Self.pauses.pause(after: vain)
  }
}
