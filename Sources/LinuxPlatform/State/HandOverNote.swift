internal import JSON
internal import NetworkTypes
internal import RoamwardCore

/// The hand-over as a note. Its links belong to one boot.
struct HandOverNote: Codable {
  static let name = "hand-over"

  private var boot: String?
  private var tunnels: [String: Tunnel]

  private struct Tunnel: Codable {
    var slot: Int64
    var since: NotedTime
  }

  init(_ handOver: HandOver, boot: String) {
    self.boot = boot
    tunnels = handOver.tunnels.mapValues { Tunnel(slot: Int64($0.slot), since: NotedTime($0.connectedSince)) }
  }

  var handOver: HandOver {
    HandOver(tunnels: tunnels.mapValues { HandOver.Tunnel(slot: UInt32(clamping: $0.slot), connectedSince: $0.since.time) })
  }
}

extension [String: JSON] {
  /// The hand-over in these notes; none, if another version wrote it in another form.
  var handOver: HandOver { (try? self[HandOverNote.name]?.decoded(as: HandOverNote.self).handOver) ?? HandOver() }
}
