internal import GatewayCore
internal import GatewayLogin
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes

/// The record of logins: their counts, and the entries of the audit log about refused ones.
struct LoginRecord {
  private var counts = GatewayCounts(started: Timestamp.now.wholeSecond)
  /// The counts that were taken last.
  private var taken: GatewayCounts?
  private var notes = RefusalNotes()

  /// The counts, if they have changed since the last call.
  mutating func takeCounts() -> GatewayCounts? {
    if counts == taken { return nil }
    taken = counts
    return counts
  }

  /// Counts a login, with its duration if that is the gateway's alone.
  mutating func accept(by factors: [LoginMethod], milliseconds: Int64?) {
    counts.accept(by: factors.map { "\($0)" }.joined(separator: ","), milliseconds: milliseconds)
  }

  /// Counts an answer that the audit log does not have.
  mutating func count(_ answer: LoginAnswer) {
    switch answer {
    case .unavailable: counts.unavailable += 1
    case .unbound: counts.refuse("unbound")
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
