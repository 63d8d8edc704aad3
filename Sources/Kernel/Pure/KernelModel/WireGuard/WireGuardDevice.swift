package import KeyMemory
package import NetworkTypes

/// A Curve25519 public key of a peer or of a device: 32 bytes. Private and preshared keys are a `SecretKey`.
package struct WireGuardKey: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package let bytes: [UInt8]

  package init?(bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  private init() { bytes = [UInt8](repeating: 0, count: 32) }

  /// All zeros: nobody's key.
  package static let zero = WireGuardKey()

  package var description: String { "(hidden)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretKey {
  /// The public key of this private key; `nil` without one.
  package var publicKey: WireGuardKey? { publicBytes.flatMap { WireGuardKey(bytes: $0) } }
}

/// One peer of a WireGuard device, in the terms of wg(8).
package struct WireGuardPeer: Hashable, Sendable {
  package var publicKey: WireGuardKey
  package var presharedKey: SecretKey?
  package var endpoint: Endpoint?
  package var allowedIPs: [IPPrefix]
  /// Seconds between keepalives; 0 is off.
  package var persistentKeepalive: UInt16

  package init(
    publicKey: WireGuardKey, presharedKey: SecretKey? = nil, endpoint: Endpoint? = nil, allowedIPs: [IPPrefix] = [],
    persistentKeepalive: UInt16 = 0
  ) {
    self.publicKey = publicKey
    self.presharedKey = presharedKey
    self.endpoint = endpoint
    self.allowedIPs = allowedIPs
    self.persistentKeepalive = persistentKeepalive
  }
}

/// A WireGuard device's configuration with every endpoint resolved to an address.
package struct WireGuardDevice: Hashable, Sendable {
  package var engine: WireGuardEngine
  package var privateKey: SecretKey
  package var publicKey: WireGuardKey
  /// The UDP port; `nil`: any free port.
  package var listenPort: UInt16?
  package var firewallMark: UInt32
  package var peers: [WireGuardPeer]

  package init(
    engine: WireGuardEngine, privateKey: SecretKey, publicKey: WireGuardKey, listenPort: UInt16? = nil,
    firewallMark: UInt32 = Ownership.mark, peers: [WireGuardPeer] = []
  ) {
    self.engine = engine
    self.privateKey = privateKey
    self.publicKey = publicKey
    self.listenPort = listenPort
    self.firewallMark = firewallMark
    self.peers = peers.asEnginesKeep
  }

  /// Whether a device reported as `state` needs no change. Endpoints are ignored if the peer may have roamed: the engine manages a running
  /// session's endpoint. The agent sets it again by `refresh` when the underlay changes.
  package func isSatisfied(by state: WireGuardState) -> Bool {
    guard state.publicKey == publicKey, state.firewallMark == firewallMark, listenPort == nil || listenPort == state.listenPort,
      state.peers.count == peers.count
    else { return false }
    let found = Dictionary(state.peers.map { ($0.publicKey, $0) }) { first, _ in first }
    return peers.allSatisfy { peer in
      guard let other = found[peer.publicKey] else { return false }
      return other.presharedKey == peer.presharedKey && other.persistentKeepalive == peer.persistentKeepalive
        && (other.allowedIPs == peer.allowedIPs || Set(other.allowedIPs) == Set(peer.allowedIPs))
        && (peer.endpoint == nil || other.endpoint != nil)
    }
  }
}

extension [WireGuardPeer] {
  /// The peers as every engine reports them after they were set: a prefix belongs to the last peer that names it, and to that once. An
  /// IPv4 address that is written as IPv6 (RFC 4291, 2.5.5.2) is one of IPv4, because no IPv6 packet reaches it.
  fileprivate var asEnginesKeep: [WireGuardPeer] {
    var owners: [IPPrefix: Int] = [:]
    for (place, peer) in enumerated() { for prefix in peer.allowedIPs { owners[prefix] = place } }
    return enumerated().map { place, peer in
      var peer = peer
      peer.allowedIPs = peer.allowedIPs.filter { owners[$0] == place }.uniqued()
      if let endpoint = peer.endpoint, let mapped = endpoint.address?.mapped {
        peer.endpoint = Endpoint(host: .address(mapped), port: endpoint.port)
      }
      return peer
    }
  }
}
