package import KernelModel
internal import KeyMemory
internal import NetworkTypes

/// Requests of the cross-platform userspace protocol (https://www.wireguard.com/xplatform/): `key=value` lines ended by an empty line.
///
/// The texts contain keys: they go to the engine's socket and nowhere else.
package enum UAPIRequest {
  /// Requests the engine's complete state of its device.
  package static let get = "get=1\n\n"

  /// Requests the same of our own engine with these peers alone.
  package static func get(_ peers: [WireGuardKey]) -> String { "get=1\n" + peers.map { publicKey($0) + "\n" }.joined() + "\n" }

  /// The request that changes a device reported as `observed` into `device`; `nil` if there is no difference.
  ///
  /// Like `wg syncconf`, it contains only differences, so that the sessions of unchanged peers continue: setting a key again would end
  /// them, setting a port again would reopen the sockets. Without `observed`, it contains everything, and any other state of the device is
  /// removed. A peer roams, so a running one's endpoint is set only if `settingEndpoints` is true or the engine has none. Endpoints by name
  /// are left out: the engine takes addresses.
  package static func configure(
    _ device: WireGuardDevice, observed: WireGuardState?, settingEndpoints: Bool = false
  ) -> String? {
    var lines: [String] = []
    if observed?.publicKey != device.publicKey { lines.append("private_key=\(device.privateKey.hexadecimal)") }
    if let port = device.listenPort, port != observed?.listenPort { lines.append("listen_port=\(port)") }
    if observed?.firewallMark != device.firewallMark { lines.append("fwmark=\(device.firewallMark)") }
    if observed == nil { lines.append("replace_peers=true") }

    let before = Dictionary((observed?.peers ?? []).map { ($0.publicKey, $0) }) { first, _ in first }
    let wanted = Set(device.peers.map(\.publicKey))
    for peer in observed?.peers ?? [] where !wanted.contains(peer.publicKey) {
      lines += [publicKey(peer.publicKey), "remove=true"]
    }
    for peer in device.peers {
      if let old = before[peer.publicKey] {
        let changes = changes(of: peer, since: old, settingEndpoint: settingEndpoints)
        // `update_only`: if the peer was removed meanwhile, half of it must not be created.
        if !changes.isEmpty { lines += [publicKey(peer.publicKey), "update_only=true"] + changes }
      } else {
        lines += creation(of: peer)
      }
    }
    return lines.isEmpty ? nil : request(lines)
  }

  /// Sets the keepalive of each of these peers, and the endpoint if one is given by address; missing peers are not created.
  package static func refresh(_ peers: [WireGuardPeer]) -> String {
    request(
      peers.flatMap { peer in
        [publicKey(peer.publicKey), "update_only=true"] + endpoint(peer.endpoint) + [keepalive(peer.persistentKeepalive)]
      })
  }

  private static func request(_ lines: [String]) -> String { "set=1\n" + lines.map { $0 + "\n" }.joined() + "\n" }

  private static func creation(of peer: WireGuardPeer) -> [String] {
    var lines = [publicKey(peer.publicKey)]
    if let key = peer.presharedKey { lines.append("preshared_key=\(key.hexadecimal)") }
    lines += endpoint(peer.endpoint)
    lines.append(keepalive(peer.persistentKeepalive))
    return lines + allowedIPs(peer.allowedIPs)
  }

  private static func changes(of peer: WireGuardPeer, since old: WireGuardState.Peer, settingEndpoint: Bool) -> [String] {
    var lines: [String] = []
    if peer.presharedKey != old.presharedKey {
      // All zeros mean none.
      lines.append("preshared_key=\(peer.presharedKey?.hexadecimal ?? String(repeating: "0", count: 64))")
    }
    if old.endpoint == nil || settingEndpoint && peer.endpoint != old.endpoint { lines += endpoint(peer.endpoint) }
    if peer.persistentKeepalive != old.persistentKeepalive { lines.append(keepalive(peer.persistentKeepalive)) }
    if Set(peer.allowedIPs) != Set(old.allowedIPs) { lines += allowedIPs(peer.allowedIPs) }
    return lines
  }

  private static func publicKey(_ key: WireGuardKey) -> String { "public_key=\(key.bytes.map(hexadecimal).joined())" }

  private static func keepalive(_ seconds: UInt16) -> String { "persistent_keepalive_interval=\(seconds)" }

  private static func endpoint(_ endpoint: Endpoint?) -> [String] {
    guard let endpoint, endpoint.address != nil else { return [] }
    return ["endpoint=\(endpoint)"]
  }

  private static func allowedIPs(_ prefixes: [IPPrefix]) -> [String] {
    ["replace_allowed_ips=true"] + prefixes.map { "allowed_ip=\($0)" }
  }
}
