package import ControlProtocol
internal import RoamwardCore

/// Whether everything is as wanted, for bars and scripts: the exit status of `status --exit-code`.
package enum StatusVerdict: Int32, Equatable, Sendable, CaseIterable {
  /// Every wanted tunnel is up. So too if no tunnel is wanted.
  case asWanted = 0
  /// A wanted tunnel is not up, and nothing has failed so far.
  case notYet = 4
  /// An attempt has failed, a provider asks a person, the kill switch blocks traffic, a policy has errors, or the machine does not do what
  /// the policies want.
  case trouble = 5

  /// Of the whole report, or of one tunnel alone.
  package init(_ report: StatusReport, tunnel: String? = nil) {
    let tunnels = report.tunnels.filter { tunnel == nil || $0.name == tunnel }
    let isMachineInTrouble =
      tunnel == nil
      && (report.policy.problems.contains { $0.severity == "error" } || report.notes.contains(where: \.code.isTrouble))
    let blocked = report.firewall.isBlocking ? report.firewall.blocking.filter { $0 == tunnel || tunnel == nil } : []
    if isMachineInTrouble || !blocked.isEmpty || tunnels.contains(where: \.isInTrouble) {
      self = .trouble
    } else if report.isStarting || tunnels.contains(where: { $0.isWanted && $0.isEnabled && !$0.isUp }) {
      self = .notYet
    } else {
      self = .asWanted
    }
  }
}

extension StatusReport.Tunnel {
  fileprivate var isInTrouble: Bool {
    isFailing || isWanted && failure != nil && !isUp || !questions.isEmpty || notes.contains(where: \.code.isTrouble)
  }
}
