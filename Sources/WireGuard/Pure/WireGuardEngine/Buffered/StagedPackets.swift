/// Packets that wait for their peer's session: at most 128 for each peer and 4 MiB in all. Beyond 128 the oldest are dropped. If the memory
/// is full, the peer that uses most drops half of it, so that silent peers leave room for others; among equals it is the one that has
/// staged nothing for the longest time.
///
/// It is used only inside the engine's sending section, so no packet is staged after its peer's flush.
package struct StagedPackets {
  package static let mostBytes = 4 << 20

  private struct Queue {
    var packets: [[UInt8]] = []
    var bytes = 0
    /// The number of the packet that was staged last, among those of all peers.
    var newest: UInt64 = 0

    mutating func removeFirst(_ count: Int) {
      for packet in packets.prefix(count) { bytes -= packet.count }
      packets.removeFirst(count)
    }
  }

  private var queues: [PeerIndex: Queue] = [:]
  package private(set) var bytes = 0
  private var count: UInt64 = 0

  package init() {}

  package mutating func append(_ packet: UnsafeRawBufferPointer, for peer: PeerIndex) {
    while bytes + packet.count > Self.mostBytes, let largest = queues.max(by: Self.isRatherKept)?.key {
      change(largest) { $0.removeFirst(($0.packets.count + 1) / 2) }
    }
    count += 1
    let number = count
    change(peer) {
      $0.newest = number
      if $0.packets.count >= ProtocolConstants.maximumStaged { $0.removeFirst(1) }
      $0.packets.append(Array(packet))
      $0.bytes += packet.count
    }
  }

  /// Removes and returns all packets of a peer.
  package mutating func take(_ peer: PeerIndex) -> [[UInt8]] {
    guard let queue = queues.removeValue(forKey: peer) else { return [] }
    bytes -= queue.bytes
    return queue.packets
  }

  private static func isRatherKept(_ one: (key: PeerIndex, value: Queue), _ other: (key: PeerIndex, value: Queue)) -> Bool {
    (one.value.bytes, other.value.newest) < (other.value.bytes, one.value.newest)
  }

  private mutating func change(_ peer: PeerIndex, _ body: (inout Queue) -> Void) {
    var queue = queues.removeValue(forKey: peer) ?? Queue()
    bytes -= queue.bytes
    body(&queue)
    bytes += queue.bytes
    if !queue.packets.isEmpty { queues[peer] = queue }
  }
}
