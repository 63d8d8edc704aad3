internal import WireGuardEngine

/// Packets that wait for their peer's session: at most 128 for each peer, and 4 MiB in all; of more, the oldest of the peer go first.
///
/// Used inside the engine's sending section only, so that no packet is staged after its peer's were sent for.
struct StagedPackets {
  private static let mostBytes = 4 << 20

  private var queues: [PeerIndex: [[UInt8]]] = [:]
  private var bytes = 0

  mutating func append(_ packet: UnsafeRawBufferPointer, for peer: PeerIndex) {
    guard bytes + packet.count <= Self.mostBytes else { return }
    bytes += packet.count
    var queue = queues.removeValue(forKey: peer) ?? []
    if queue.count >= ProtocolConstants.maximumStaged { bytes -= queue.removeFirst().count }
    queue.append(Array(packet))
    queues[peer] = queue
  }

  /// Takes all that wait for a peer.
  mutating func take(_ peer: PeerIndex) -> [[UInt8]] {
    let packets = queues.removeValue(forKey: peer) ?? []
    for packet in packets { bytes -= packet.count }
    return packets
  }
}
