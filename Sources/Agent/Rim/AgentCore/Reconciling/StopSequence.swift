import KernelModel
import NetworkTypes
import RoamwardCore

/// The start after an earlier agent, and the stop. Pure: no clock.
struct StopSequence {
  private static let patience = Duration.seconds(4)
  /// The time limit of a clean-up for resolvconf, which may wait for its own lock for 10 s. No later agent would finish the change.
  private static let patienceAtCleanUp = Duration.seconds(15)

  private(set) var isStopping = false
  /// The tunnels that stay for the next agent.
  var handOver = HandOver()
  /// Whether commands of an earlier agent are being ended. Until then no policy is in force.
  var isRecovering = false
  var isCleaningUp = false
  private var began = Moment(nanoseconds: 0)
  /// The moment at which tunnel programs that still run are killed: a stop takes at most five seconds, whatever their time-outs are.
  private(set) var cutAt: Moment?
  private var whenStopped: (() -> Void)?

  mutating func begin(at now: Moment, then done: @escaping () -> Void) {
    isStopping = true
    whenStopped = done
    began = now
    cutAt = now + Self.patience
  }

  /// The duration of the stop so far, once, if running work has to be cut short now. `change`: the unfinished change of another program.
  mutating func cutShort(_ change: Step?, at now: Moment) -> Duration? {
    guard let at = cutAt, at <= now else { return nil }
    if isCleaningUp, case .removeRecord = change, at < began + Self.patienceAtCleanUp {
      cutAt = began + Self.patienceAtCleanUp
      return nil
    }
    cutAt = nil
    return at - began
  }

  /// Whether nothing begun prevents the end: leftover commands are ended first, and writes of another program are awaited.
  func mayEnd(isChangingResolver: Bool) -> Bool {
    isStopping && whenStopped != nil && !isRecovering && (!isChangingResolver || cutAt == nil)
  }

  /// The completion to call at the end, once.
  mutating func end() -> (() -> Void)? {
    defer { whenStopped = nil }
    return whenStopped
  }
}
