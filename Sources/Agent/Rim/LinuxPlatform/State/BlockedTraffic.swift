import AgentCore
package import ControlProtocol
internal import Glibc
internal import JSON
internal import KernelModel
internal import KernelNetwork
internal import LinuxIO
package import NetworkTypes
internal import RoamwardCore

/// The traffic that a kill switch blocks while no agent answers.
package struct BlockedTraffic: Equatable, Sendable {
  /// The record of the agent or the early lock; `nil`: the firewall blocks, and no record names the tunnels.
  package var recorded: FirewallStatus?

  package init(recorded: FirewallStatus?) { self.recorded = recorded }

  /// The present state; `nil`: nothing is blocked, as far as this user may see. Root sees the firewall itself, others only the record.
  package static var current: BlockedTraffic? {
    let recorded = BlockedTrafficRecord().status
    if geteuid() == 0 {
      guard let backend = try? NftablesBackend(), backend.observe().isGuarding else { return nil }
    } else if recorded == nil {
      return nil
    }
    return BlockedTraffic(recorded: recorded)
  }

  /// A line of text for people.
  package var text: String {
    guard let recorded else { return "the kill switch blocks traffic: `nft list table \(FirewallTable.name)`" }
    return "the kill switch blocks traffic, because \(recorded.namesOfBlocking) not up"
  }

  /// A status report without an agent: `pid` is null, and of the other members only `firewall` is present. `guards` and `blocking` are null
  /// if no record has them.
  package func report(at time: Timestamp) -> StatusWithoutAgent {
    StatusWithoutAgent(
      time: time,
      firewall: .init(situation: .guarded, code: .trafficBlocked, guards: recorded?.guards, blocking: recorded?.blocking))
  }
}

/// The record of blocked traffic, for users who cannot query an agent: a JSON file for `roamward status`, and the login notice. Both are
/// written here only, from one value.
package struct BlockedTrafficRecord {
  package static let usualPath = "/run/roamward/blocked.json"

  private let path: String
  private let notice: LoginNotice

  package init(path: String = BlockedTrafficRecord.usualPath, notice: LoginNotice = LoginNotice()) {
    self.path = path
    self.notice = notice
  }

  /// Replaces the record, or removes it if the kill switch blocks nothing. A failure is ignored: the firewall does not need the record.
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

  /// The recorded status; `nil`: none, or not readable.
  package var status: FirewallStatus? {
    guard let bytes = try? TextFile.read(path), let content = try? JSON(parsing: bytes) else { return nil }
    let status = (try? content.decoded(as: BlockedTrafficFile.self).firewall) ?? (try? content.decoded(as: OldFile.self).firewall.status)
    return status.flatMap { $0.isBlocking ? $0 : nil }
  }

  /// The existing files, with the purpose of each.
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

/// The relevant part of records of earlier versions.
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
