internal import GatewayCore
internal import GatewayLogin
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes

/// The record of logins: their counts, and the entries of the audit log about refused ones.
struct LoginRecord {
  private var counts = GatewayCounts(
    started: Timestamp.now.wholeSecond, reasons: LoginRefusal.allCases.map { "\($0)" } + [unbound])
  /// The counts that were taken last.
  private var taken: GatewayCounts?
  private var notes = RefusalNotes()
  /// The reason of a device that was not taken.
  private static let unbound = "unbound"

  /// The counts, if they have changed since the last call.
  mutating func takeCounts() -> GatewayCounts? {
    if counts == taken { return nil }
    taken = counts
    return counts
  }

  /// Records whether the machine is as the store says.
  mutating func record(isApplied: Bool) { counts.isApplied = isApplied }

  mutating func fail(_ worker: GatewayCounts.Worker) { counts.fail(worker) }

  /// Counts a login, with its duration if that is the gateway's alone.
  mutating func accept(by factors: [LoginMethod], milliseconds: Int64?) {
    counts.accept(by: factors.map { "\($0)" }.joined(separator: ","), milliseconds: milliseconds)
  }

  /// Counts an answer that the audit log does not have.
  mutating func count(_ answer: LoginAnswer) {
    switch answer {
    case .unavailable: counts.unavailable += 1
    case .unbound: counts.refuse(Self.unbound)
    default: break
    }
  }

  /// Returns what the audit log gets of it.
  mutating func refuse(
    _ refusal: LoginRefusal, _ name: String, from source: IPAddress, _ detail: String, at now: Timestamp
  ) -> [AuditEntry.Record] {
    counts.refuse("\(refusal)")
    return notes.record(refusal, name, from: source, detail, at: now)
  }

  /// The entries of the audit log for refusals that were only counted: of an hour that is over, or of all if nothing follows (`isLast`).
  mutating func endHour(at now: Timestamp, isLast: Bool) -> [AuditEntry.Record] { isLast ? notes.endShares() : notes.endHour(at: now) }
}
