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
    /// Empty: it has none. The notes of the first version, which had WireGuard tunnels alone, do not have it.
    var link: String?
    var outer: String?
    var provider: String?
  }

  init(_ handOver: HandOver, boot: String) {
    self.boot = boot
    tunnels = handOver.tunnels.mapValues {
      Tunnel(
        slot: Int64($0.slot), since: NotedTime($0.connectedSince), link: $0.link ?? "", outer: $0.outer, provider: $0.provider)
    }
  }

  var handOver: HandOver {
    var handOver = HandOver()
    for (name, noted) in tunnels {
      let link = noted.link ?? TunnelSetup.linkName(forTunnel: name)
      handOver.tunnels[name] = HandOver.Tunnel(
        slot: UInt32(clamping: noted.slot), connectedSince: noted.since.time, link: link.isEmpty ? nil : link, outer: noted.outer,
        provider: noted.provider)
    }
    return handOver
  }
}

extension [String: JSON] {
  /// The hand-over in these notes; none, if another version wrote it in another form.
  var handOver: HandOver { (try? self[HandOverNote.name]?.decoded(as: HandOverNote.self).handOver) ?? HandOver() }
}
