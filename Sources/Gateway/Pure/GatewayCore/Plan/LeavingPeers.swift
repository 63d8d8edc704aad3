package import KernelModel
package import NetworkTypes

/// Peers whose devices are told the end of their sessions. The message leaves by the peer, so the peer goes after it. The firewall refuses
/// the packets of the device meanwhile.
package struct LeavingPeers: Sendable {
  private struct Leaving {
    let peer: WireGuardPeer
    /// The bytes that the link had sent to it before the message, and at the last look.
    let before: UInt64
    var last: UInt64
    let deadline: Moment
  }

  /// A message has this many bytes at least.
  private static let shortest: UInt64 = 64
  /// For a session that has ended: a message waits for a handshake that does not come.
  package static let patience = Duration.seconds(2)
  /// Between two looks at the link.
  package static let interval = Duration.milliseconds(50)

  private var leaving: [WireGuardKey: Leaving] = [:]

  package init() {}

  package var isEmpty: Bool { leaving.isEmpty }

  /// Before devices are told: the link as it is now.
  package mutating func begin(_ keys: Set<WireGuardKey>, _ device: WireGuardState?, at now: Moment) {
    for peer in device?.peers ?? [] where keys.contains(peer.publicKey) {
      leaving[peer.publicKey] = Leaving(
        peer: WireGuardPeer(
          publicKey: peer.publicKey, presharedKey: peer.presharedKey, allowedIPs: peer.allowedIPs,
          persistentKeepalive: peer.persistentKeepalive), before: peer.sentBytes, last: peer.sentBytes, deadline: now + Self.patience)
    }
  }

  /// The peers that the link is to have: those that are wanted, and those that are leaving. Who is wanted again, leaves no more.
  package mutating func joined(to wanted: [WireGuardPeer]) -> [WireGuardPeer] {
    if leaving.isEmpty { return wanted }
    for peer in wanted { leaving[peer.publicKey] = nil }
    return (wanted + leaving.values.map(\.peer)).sorted { $0.publicKey.bytes.lexicographicallyPrecedes($1.publicKey.bytes) }
  }

  /// The leaving ones among these.
  package func among(_ peers: [WireGuardPeer]) -> [WireGuardPeer] { peers.filter { leaving[$0.publicKey] != nil } }

  /// The peers that go now: their messages have left, since the link sent more to them and then nothing; or they take too long.
  package mutating func look(at device: WireGuardState?, _ now: Moment) -> [WireGuardPeer] {
    let sent = Dictionary((device?.peers ?? []).map { ($0.publicKey, $0.sentBytes) }) { first, _ in first }
    var gone: [WireGuardPeer] = []
    for (key, one) in leaving {
      let bytes = sent[key] ?? one.last
      if now >= one.deadline || bytes >= one.before + Self.shortest && bytes == one.last {
        gone.append(one.peer)
        leaving[key] = nil
      } else {
        leaving[key]?.last = bytes
      }
    }
    return gone
  }
}
