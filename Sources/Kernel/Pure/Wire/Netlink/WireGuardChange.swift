package import KernelModel
package import KeyMemory
package import NetworkTypes

/// The changes of one or more `WG_CMD_SET_DEVICE` requests; a value of `nil` stays unchanged.
package struct WireGuardChange: Equatable, Sendable {
  package struct Peer: Hashable, Sendable {
    package var publicKey: WireGuardKey
    /// Removes the peer; the other values are then ignored.
    package var isRemoved = false
    /// Does not create a missing peer (`WGPEER_F_UPDATE_ONLY`).
    package var onlyIfPresent = false
    /// `.some(nil)` removes the preshared key.
    package var presharedKey: SecretKey??
    package var endpoint: Endpoint?
    package var persistentKeepalive: UInt16?
    /// Whether the allowed IPs replace the present ones, rather than being added.
    package var replacesAllowedIPs = false
    package var allowedIPs: [IPPrefix] = []

    package init(publicKey: WireGuardKey) { self.publicKey = publicKey }
  }

  package var privateKey: SecretKey?
  package var listenPort: UInt16?
  package var firewallMark: UInt32?
  /// Removes every peer first, and so ends every session.
  package var replacesPeers = false
  package var peers: [Peer] = []

  package init(peers: [Peer] = []) { self.peers = peers }

  /// Changes `state` to `device` as `wg syncconf` does: sessions of remaining peers continue.
  ///
  /// A remaining peer keeps its endpoint, which may have roamed, unless `settingEndpoints`. `state` is `nil` for a new link.
  package init(from state: WireGuardState?, to device: WireGuardDevice, settingEndpoints: Bool = false) {
    let present = Dictionary((state?.peers ?? []).map { ($0.publicKey, $0) }) { first, _ in first }
    if state?.publicKey != device.publicKey { privateKey = device.privateKey }
    if let port = device.listenPort, port != state?.listenPort { listenPort = port }
    if state?.firewallMark != device.firewallMark { firewallMark = device.firewallMark }
    replacesPeers = state == nil
    let wanted = Set(device.peers.lazy.map(\.publicKey))
    for peer in state?.peers ?? [] where !wanted.contains(peer.publicKey) {
      var change = Peer(publicKey: peer.publicKey)
      change.isRemoved = true
      peers.append(change)
    }
    for peer in device.peers {
      let before = present[peer.publicKey]
      var change = Peer(publicKey: peer.publicKey)
      if before?.presharedKey != peer.presharedKey { change.presharedKey = .some(peer.presharedKey) }
      if settingEndpoints || before?.endpoint == nil { change.endpoint = peer.endpoint }
      if before?.persistentKeepalive ?? 0 != peer.persistentKeepalive { change.persistentKeepalive = peer.persistentKeepalive }
      if before == nil || Set(before?.allowedIPs ?? []) != Set(peer.allowedIPs) {
        change.replacesAllowedIPs = true
        change.allowedIPs = peer.allowedIPs
      }
      if before == nil || change != Peer(publicKey: peer.publicKey) { peers.append(change) }
    }
  }

  package var isEmpty: Bool { self == WireGuardChange() }

  /// The change in parts whose messages stay below `limit` bytes, to be sent in order.
  package func split(limit: Int = 24_000) -> [WireGuardChange] {
    var parts: [WireGuardChange] = []
    var current = self
    current.peers = []
    var size = Self.deviceSize
    func flush() {
      parts.append(current)
      current = WireGuardChange()
      size = Self.deviceSize
    }
    for peer in peers {
      var part = peer
      part.allowedIPs = []
      if size + Self.peerSize + Self.allowedIPSize > limit { flush() }
      size += Self.peerSize
      for prefix in peer.allowedIPs {
        if size + Self.allowedIPSize > limit {
          current.peers.append(part)
          flush()
          // The rest is added to the first part.
          part = Peer(publicKey: peer.publicKey)
          part.onlyIfPresent = peer.onlyIfPresent
          size += Self.peerSize
        }
        part.allowedIPs.append(prefix)
        size += Self.allowedIPSize
      }
      current.peers.append(part)
    }
    flush()
    return parts
  }

  /// Upper bounds of their sizes on the wire.
  private static let deviceSize = 120
  private static let peerSize = 136
  private static let allowedIPSize = 40
}

extension NetlinkWriter {
  /// One request of a change that `split` has made small enough.
  package mutating func setWireGuard(link: String, _ change: WireGuardChange, family: UInt16, sequence: UInt32, flags: UInt16) {
    genericMessage(
      family: family, command: WireGuardMessage.setDevice, version: WireGuardMessage.version, flags: flags, sequence: sequence
    ) { writer in
      writer.attribute(WireGuardMessage.Device.name, text: link)
      if let key = change.privateKey { writer.attribute(WireGuardMessage.Device.privateKey, key) }
      if let port = change.listenPort { writer.attribute(WireGuardMessage.Device.listenPort, host16: port) }
      if let mark = change.firewallMark { writer.attribute(WireGuardMessage.Device.firewallMark, host32: mark) }
      // WGDEVICE_F_REPLACE_PEERS.
      if change.replacesPeers { writer.attribute(WireGuardMessage.Device.flags, host32: 1) }
      guard !change.peers.isEmpty else { return }
      writer.nested(WireGuardMessage.Device.peers) { writer in
        for peer in change.peers { writer.nested(0) { $0.wireGuardPeer(peer) } }
      }
    }
  }

  private mutating func wireGuardPeer(_ peer: WireGuardChange.Peer) {
    attribute(WireGuardMessage.Peer.publicKey, peer.publicKey.bytes)
    // WGPEER_F_REMOVE_ME, WGPEER_F_REPLACE_ALLOWEDIPS, WGPEER_F_UPDATE_ONLY.
    let flags: UInt32 = (peer.isRemoved ? 1 : 0) | (peer.replacesAllowedIPs ? 2 : 0) | (peer.onlyIfPresent ? 4 : 0)
    if flags != 0 { attribute(WireGuardMessage.Peer.flags, host32: flags) }
    if peer.isRemoved { return }
    switch peer.presharedKey {
    case .some(let key?): attribute(WireGuardMessage.Peer.presharedKey, key)
    case .some(nil): attribute(WireGuardMessage.Peer.presharedKey, [UInt8](repeating: 0, count: 32))
    case nil: break
    }
    if let address = peer.endpoint?.socketAddress { attribute(WireGuardMessage.Peer.endpoint, address) }
    if let seconds = peer.persistentKeepalive { attribute(WireGuardMessage.Peer.keepalive, host16: seconds) }
    guard !peer.allowedIPs.isEmpty else { return }
    nested(WireGuardMessage.Peer.allowedIPs) { writer in
      for prefix in peer.allowedIPs {
        writer.nested(0) { writer in
          writer.attribute(WireGuardMessage.AllowedIP.family, host16: UInt16(prefix.family.addressFamily))
          writer.attribute(WireGuardMessage.AllowedIP.address, prefix.address)
          writer.attribute(WireGuardMessage.AllowedIP.length, byte: UInt8(prefix.length))
        }
      }
    }
  }
}
