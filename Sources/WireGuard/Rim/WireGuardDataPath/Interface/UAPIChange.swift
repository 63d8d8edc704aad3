internal import Glibc
internal import KeyMemory
internal import NetworkTypes
internal import WireGuardControl
internal import WireGuardEngine

extension UAPIDeviceChange {
  /// The part of the change that the engine applies. Secrets are copied from the request's bytes directly into memory for secrets.
  func engineChange(_ bytes: [UInt8]) -> EngineChange {
    EngineChange(
      privateKey: privateKey.map { secret(in: bytes, $0) }, replacesPeers: replacesPeers, peers: peers.compactMap { $0.engineChange(bytes) }
    )
  }
}

extension UAPIPeerChange {
  fileprivate func engineChange(_ bytes: [UInt8]) -> PeerChange? {
    guard let key = PublicKey(bytes: publicKey) else { return nil }
    var change = PeerChange(key)
    change.removes = removes
    change.updatesOnly = updatesOnly
    change.presharedKey = presharedKey.map { secret(in: bytes, $0) }
    change.endpoint = endpoint.map { DatagramAddress($0.address, port: $0.port, scope: $0.scope) }
    change.probe = probe.map { DatagramAddress($0.address, port: $0.port, scope: $0.scope) }
    change.persistentKeepalive = persistentKeepalive
    change.replacesAllowedIPs = replacesAllowedIPs
    change.allowedIPs = allowedIPs
    change.removedAllowedIPs = removedAllowedIPs
    return change
  }
}

extension UAPIEndpoint {
  fileprivate var scope: UInt32 {
    guard let zone, address.isLinkLocal else { return 0 }
    return UInt32(zone) ?? if_nametoindex(zone)
  }
}

/// A secret from 64 digits that are known to be valid; `nil` for all zeros, which mean no key.
private func secret(in bytes: [UInt8], _ range: Range<Int>) -> SecretBytes? {
  var decoded: [UInt8] = []
  decoded.reserveCapacity(32)
  for i in stride(from: range.lowerBound, to: range.upperBound - 1, by: 2) {
    decoded.append(UAPICall.byte(bytes[i], bytes[i + 1]) ?? 0)
  }
  defer { decoded.wipe() }
  guard let secret = SecretBytes(bytes: decoded), !secret.isZero else { return nil }
  return secret
}
