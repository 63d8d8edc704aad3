internal import NetworkTypes

/// The allowed IPs of all peers: the destination peer of a packet, and the permitted source addresses of each peer. The longest prefix
/// decides.
struct AllowedIPs {
  private var v4 = FamilyTable()
  private var v6 = FamilyTable()

  /// The table of one family. A single address is the longest possible prefix, so the hash table is searched first.
  private struct FamilyTable {
    var hosts = HostTable()
    var nets = PrefixTrie()

    @inline(__always)
    func lookUp(_ high: UInt64, _ low: UInt64) -> Int32 {
      let slot = hosts.lookUp(high, low)
      return slot >= 0 ? slot : nets.lookUp(high, low)
    }

    func value(of prefix: IPPrefix) -> Int32 {
      guard prefix.isHost else { return nets.value(of: prefix) }
      let (high, low) = PrefixTrie.key(prefix.address)
      return hosts.lookUp(high, low)
    }

    mutating func set(_ prefix: IPPrefix, _ value: Int32) {
      guard prefix.isHost else { return nets.insert(prefix, value) }
      let (high, low) = PrefixTrie.key(prefix.address)
      hosts.insert(high, low, value)
    }

    mutating func remove(_ prefix: IPPrefix) {
      guard prefix.isHost else { return nets.remove(prefix) }
      let (high, low) = PrefixTrie.key(prefix.address)
      hosts.remove(high, low)
    }

    func deallocate() {
      hosts.deallocate()
      nets.deallocate()
    }
  }

  func deallocate() {
    v4.deallocate()
    v6.deallocate()
  }

  /// The peer that has exactly this prefix.
  func owner(of prefix: IPPrefix) -> PeerIndex? { found(prefix.family == .v4 ? v4.value(of: prefix) : v6.value(of: prefix)) }

  mutating func set(_ prefix: IPPrefix, to peer: PeerIndex) {
    if prefix.family == .v4 { v4.set(prefix, peer.slot) } else { v6.set(prefix, peer.slot) }
  }

  mutating func remove(_ prefix: IPPrefix) { if prefix.family == .v4 { v4.remove(prefix) } else { v6.remove(prefix) } }

  func peer(of address: IPAddress) -> PeerIndex? {
    let (high, low) = PrefixTrie.key(address)
    return found(address.family == .v4 ? v4.lookUp(high, low) : v6.lookUp(high, low))
  }

  private func found(_ slot: Int32) -> PeerIndex? { slot < 0 ? nil : PeerIndex(slot: slot) }

  /// The peer's slot for the source (`isDestination` false) or destination of the packet that begins here. Also `none` if it is not an IP
  /// packet with a whole header.
  @inline(__always)
  func slot(of packet: UnsafeRawPointer, count: Int, isDestination: Bool) -> Int32 {
    guard count >= 20 else { return PrefixTrie.none }
    switch packet.load(as: UInt8.self) >> 4 {
    case 4:
      let address = packet.loadUnaligned(fromByteOffset: isDestination ? 16 : 12, as: UInt32.self).bigEndian
      return v4.lookUp(UInt64(address) << 32, 0)
    case 6 where count >= 40:
      let offset = isDestination ? 24 : 8
      let high = packet.loadUnaligned(fromByteOffset: offset, as: UInt64.self).bigEndian
      let low = packet.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self).bigEndian
      return v6.lookUp(high, low)
    default: return PrefixTrie.none
    }
  }

  /// The number of entries in all tables, for tests.
  var nodeCount: Int { v4.nets.nodeCount + v6.nets.nodeCount + v4.hosts.count + v6.hosts.count }
}

extension IPPrefix {
  fileprivate var isHost: Bool { length == family.bitWidth }
}
