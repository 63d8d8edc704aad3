import AgentCore
package import ControlProtocol
internal import Glibc
internal import JSON
internal import KernelModel
internal import KernelNetwork
internal import LinuxIO
package import NetworkTypes
internal import RoamwardCore

/// What a kill switch blocks while no agent answers.
package struct BlockedTraffic: Hashable, Sendable {
  /// As the agent or the early lock recorded it; `nil`: the firewall blocks, and no record says for which tunnels.
  package var recorded: FirewallStatus?

  package init(recorded: FirewallStatus?) { self.recorded = recorded }

  /// What is there now; `nil`: nothing, as far as this user may see. Root sees the firewall itself, others only the record.
  package static var current: BlockedTraffic? {
    let recorded = BlockedTrafficRecord().status
    if geteuid() == 0 {
      guard let backend = try? NftablesBackend(), case .table(_, _, isGuarding: true) = backend.observe() else { return nil }
    } else if recorded == nil {
      return nil
    }
    return BlockedTraffic(recorded: recorded)
  }

  /// For people, in a line.
  package var text: String {
    guard let recorded else { return "the kill switch blocks traffic: `nft list table \(FirewallTable.name)`" }
    return "the kill switch blocks traffic, because \(recorded.namesOfBlocking) not up"
  }

  /// A report of status, as far as there is one without an agent: `pid` is null, and of the other members only `firewall` is there.
  /// `guards` and `blocking` are null where no record has them.
  package func report(at time: Timestamp) -> StatusWithoutAgent {
    StatusWithoutAgent(
      time: time,
      firewall: .init(situation: .guarded, code: .trafficBlocked, guards: recorded?.guards, blocking: recorded?.blocking))
  }
}

/// What a kill switch blocks, for those who cannot ask an agent: a file of JSON for `roamward status`, and the notice for people who log
/// in. Both are made from one value, and here alone.
package struct BlockedTrafficRecord {
  package static let usualPath = "/run/roamward/blocked.json"

  private let path: String
  private let notice: LoginNotice

  package init(path: String = BlockedTrafficRecord.usualPath, notice: LoginNotice = LoginNotice()) {
    self.path = path
    self.notice = notice
  }

  /// Replaces the record, or removes it where the kill switch blocks nothing. A failure is ignored: the firewall
  /// does not depend on the record.
  package func write(_ status: FirewallStatus?) {
    notice.say(status?.wordsOfBlocking)
    guard let status, status.isBlocking else {
      unlink(path + TextFile.temporarySuffix)
      try? TextFile.remove(path)
      return
    }
    try? Folder.make(Folder.parent(of: path), mode: 0o755)
    let content = JSON(encoding: BlockedTrafficFile(firewall: status))
    try? TextFile.replace(path, with: Array((content.text() + "\n").utf8), mode: 0o644)
  }

  /// What is recorded; `nil`: nothing, or nothing that can be read.
  package var status: FirewallStatus? {
    guard let bytes = try? TextFile.read(path), let content = try? JSON(parsing: bytes) else { return nil }
    let status = (try? content.decoded(as: BlockedTrafficFile.self).firewall) ?? (try? content.decoded(as: OldFile.self).firewall.status)
    return status.flatMap { $0.isBlocking ? $0 : nil }
  }

  /// The files that are there, with what each is for.
  package var files: [(path: String, purpose: String)] {
    var files = notice.path.map { [($0, "login notice that traffic is blocked")] } ?? []
    if FileNature.exists(path) { files.append((path, "lists blocked tunnels, for `roamward status` without an agent")) }
    return files
  }
}

private struct BlockedTrafficFile: Codable {
  var version = DocumentVersion()
  var firewall: FirewallStatus
}

/// What earlier versions wrote, of what counts here.
private struct OldFile: Decodable {
  struct Firewall: Decodable {
    var situation: FirewallStatus.Situation
    var guards: [String]
    var blocking: [String]

    var status: FirewallStatus { FirewallStatus(situation: situation, guards: guards, blocking: blocking) }
  }

  var firewall: Firewall
}

extension FirewallStatus {
  /// `corp is`, `corp, lab are`.
  fileprivate var namesOfBlocking: String { blocking.joined(separator: ", ") + (blocking.count == 1 ? " is" : " are") }

  /// The notice for people who log in; `nil`: the kill switch blocks nothing.
  package var wordsOfBlocking: String? {
    guard isBlocking else { return nil }
    return "Roamward's kill switch blocks traffic, because \(namesOfBlocking) not up."
      + " `roamward status` shows why; `sudo roamward release` suspends the kill switch."
  }
}
