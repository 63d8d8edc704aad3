import ControlProtocol

/// Records what the kill switch blocks, when that changes.
struct BlockingRecorder {
  /// `nil`: nothing was recorded yet, not even that nothing is blocked.
  private var recorded: FirewallStatus??

  mutating func follow(_ status: FirewallStatus, _ record: (FirewallStatus?) -> Void) {
    let blocked = status.isBlocking ? status : nil
    guard recorded != .some(blocked) else { return }
    recorded = .some(blocked)
    record(blocked)
  }
}
