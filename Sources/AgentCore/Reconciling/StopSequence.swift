import KernelModel
import NetworkTypes
import RoamwardCore

/// How the agent begins after another one, and how it ends. Pure: no clock.
struct StopSequence {
  private static let patience = Duration.seconds(4)
  /// How long a clean-up waits for resolvconf, which may wait for its own lock for 10 s. No agent comes after
  /// it that would finish the change.
  private static let patienceAtCleanUp = Duration.seconds(15)

  private(set) var isStopping = false
  /// Commands of an earlier agent are being ended. Until then no policy is in force.
  var isRecovering = false
  var isCleaningUp = false
  private var began = Moment(nanoseconds: 0)
  /// Programs of tunnels that are still ending then are ended at once: whatever their time-outs are, a stop
  /// takes no more than five seconds.
  private(set) var cutAt: Moment?
  private var whenStopped: (() -> Void)?

  mutating func begin(at now: Moment, then done: @escaping () -> Void) {
    isStopping = true
    whenStopped = done
    began = now
    cutAt = now + Self.patience
  }

  /// How long the stop has taken where what still runs is to be cut short now; once. `change`: what another program is still changing.
  mutating func cutShort(_ change: Step?, at now: Moment) -> Duration? {
    guard let at = cutAt, at <= now else { return nil }
    if isCleaningUp, case .removeRecord = change, at < began + Self.patienceAtCleanUp {
      cutAt = began + Self.patienceAtCleanUp
      return nil
    }
    cutAt = nil
    return at - began
  }

  /// Whether nothing that was begun keeps it from ending: leftover commands are ended first, and what another
  /// program still writes is awaited.
  func mayEnd(isChangingResolver: Bool) -> Bool {
    isStopping && whenStopped != nil && !isRecovering && (!isChangingResolver || cutAt == nil)
  }

  /// What is to be called at the end, once.
  mutating func end() -> (() -> Void)? {
    defer { whenStopped = nil }
    return whenStopped
  }
}
