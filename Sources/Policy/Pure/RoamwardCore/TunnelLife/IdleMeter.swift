package import KernelModel
package import NetworkTypes
import PeerDetection

/// The time since a WireGuard device carried data, from samples of its counters. A pure value.
///
/// The counters include WireGuard's own messages: handshakes, keepalives after received data, persistent keepalives. Bytes that these can
/// explain are no data. A data packet of at most 32 bytes may be taken for them; no TCP segment and no DNS message is that small.
package struct IdleMeter: Equatable, Sendable {
  private struct Counters: Hashable {
    var received: UInt64
    var sent: UInt64
  }

  private var peers: [WireGuardKey: Counters] = [:]
  private var sampledAt: Moment
  /// The time of the last sample that showed data; before the first one, the time of the start.
  package private(set) var activeAt: Moment

  package init(_ device: WireGuardState, at now: Moment) {
    sampledAt = now
    activeAt = now
    peers = Self.counters(of: device)
  }

  package mutating func take(_ device: WireGuardState, at now: Moment) {
    let time = now - sampledAt
    for peer in device.peers {
      let before = peers[peer.publicKey] ?? Counters(received: 0, sent: 0)
      // A device that was configured from scratch counts from 0.
      let sent = peer.sentBytes >= before.sent ? peer.sentBytes - before.sent : peer.sentBytes
      let received = peer.receivedBytes >= before.received ? peer.receivedBytes - before.received : peer.receivedBytes
      if Self.isData(sent, in: time, keepalive: peer.persistentKeepalive) || Self.isData(received, in: time, keepalive: 10) {
        activeAt = now
      }
    }
    peers = Self.counters(of: device)
    sampledAt = now
  }

  private static func counters(of device: WireGuardState) -> [WireGuardKey: Counters] {
    let pairs = device.peers.map { ($0.publicKey, Counters(received: $0.receivedBytes, sent: $0.sentBytes)) }
    return Dictionary(pairs) { first, _ in first }
  }

  /// Whether WireGuard's own messages cannot explain these bytes. `keepalive`: the interval of persistent keepalives in seconds, 0: none;
  /// the other side's is not known, and taken for 10.
  static func isData(_ bytes: UInt64, in time: Duration, keepalive: UInt16) -> Bool {
    typealias WireGuard = DeadPeerDetector.WireGuardTiming
    if bytes == 0 { return false }
    let attempts = 2 + UInt64(time / WireGuard.rekeyTimeout)
    let passive = 1 + UInt64(time / WireGuard.keepaliveTimeout)
    let persistent = keepalive == 0 ? 0 : 1 + UInt64(time / .seconds(Int64(keepalive)))
    for initiations in 0...attempts where initiations * WireGuard.initiationBytes <= bytes {
      // More than one answered handshake of each side is not expected between two samples.
      for responses in 0...UInt64(1) {
        let handshakes = initiations * WireGuard.initiationBytes + responses * WireGuard.responseBytes
        guard handshakes <= bytes else { break }
        // Each handshake may be confirmed by a keepalive.
        let keepalives = passive + persistent + min(1, initiations) + responses
        let rest = bytes - handshakes
        if rest % WireGuard.keepaliveBytes == 0, rest / WireGuard.keepaliveBytes <= keepalives { return false }
      }
    }
    return true
  }
}

/// The time since a link carried packets, from samples of its counters: of a tunnel whose provider's own messages take another way.
package struct LinkIdleMeter: Equatable, Sendable {
  private var packets: UInt64
  /// The time of the last sample that showed packets; before the first one, the time of the start.
  package private(set) var activeAt: Moment

  package init(_ packets: UInt64, at now: Moment) {
    self.packets = packets
    activeAt = now
  }

  package mutating func take(_ packets: UInt64, at now: Moment) {
    if packets != self.packets { activeAt = now }
    self.packets = packets
  }
}

extension WireGuardState {
  /// Whether a peer has a session, or was asked for one.
  package var isStirred: Bool { peers.contains { $0.lastHandshake != 0 || $0.sentBytes > 0 } }
}
