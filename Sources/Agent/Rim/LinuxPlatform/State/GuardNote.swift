import AgentCore
internal import JSON
internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// A guard as a note, `guard-PROCESS`. The number of its control group belongs to one boot.
struct GuardNote: Codable {
  static let prefix = "guard-"

  private var boot: String?
  private var process: Int64
  private var program: String
  private var since: NotedTime
  private var endpoints: [String]
  private var link: String?
  private var lastLinkBefore: Int64
  private var group: Int64
  private var level: Int
  private var heldSince: NotedTime?

  private enum CodingKeys: String, CodingKey {
    case boot
    case process = "pid"
    case program, since, endpoints, link
    case lastLinkBefore = "last-link-before"
    case group, level
    case heldSince = "held-since"
  }

  init(_ guarded: ProgramGuard, boot: String) {
    self.boot = boot
    process = Int64(guarded.process)
    program = guarded.program
    since = NotedTime(guarded.since)
    endpoints = guarded.endpoints.map(\.description)
    link = guarded.link
    lastLinkBefore = Int64(guarded.lastLinkBefore)
    group = Int64(bitPattern: guarded.group.number)
    level = guarded.group.level
    heldSince = guarded.heldSince.map { NotedTime($0) }
  }

  /// `nil`: an endpoint cannot be read. The guard is then none that this version knows how to keep.
  var guarded: ProgramGuard? {
    let addresses = endpoints.compactMap { GuardedEndpoint($0) }
    guard addresses.count == endpoints.count else { return nil }
    return ProgramGuard(
      process: Int32(clamping: process), program: program, since: since.time, endpoints: addresses, link: link,
      lastLinkBefore: UInt32(clamping: lastLinkBefore), group: ProviderGroup(number: UInt64(bitPattern: group), level: level),
      heldSince: heldSince?.time)
  }
}

extension [String: JSON] {
  /// The guards in these notes, by their processes.
  var guards: [ProgramGuard] {
    filter { $0.key.hasPrefix(GuardNote.prefix) }.compactMap { try? $0.value.decoded(as: GuardNote.self).guarded }
      .sorted { $0.process < $1.process }
  }
}
