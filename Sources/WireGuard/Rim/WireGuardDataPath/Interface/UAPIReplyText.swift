internal import KeyMemory
internal import NetworkTypes
internal import WireGuardEngine

/// The answer to a request of the userspace protocol. It may contain keys: the sender of the bytes wipes them. There is one owner, because
/// a second one would keep what the first one wipes.
struct UAPIReplyText: ~Copyable {
  private var bytes: [UInt8] = []

  consuming func take() -> [UInt8] { bytes }

  /// Only the result: 0, or an `errno` value.
  init(code: Int32) { line("errno", code == 0 ? "0" : "-\(code)", isLast: true) }

  /// The complete state, for `get=1`. `cipher` is no part of the protocol; wg(8) and others skip keys that they do not know.
  init(_ state: EngineState, port: UInt16, mark: UInt32, cipher: String) {
    // The buffer must never move while it grows: the old copy would not be wiped.
    bytes.reserveCapacity(512 + state.peers.reduce(0) { $0 + 640 + $1.allowedIPs.count * 64 })
    if let key = state.privateKey { line("private_key", key) }
    if port != 0 { line("listen_port", "\(port)") }
    if mark != 0 { line("fwmark", "\(mark)") }
    line("cipher", cipher)
    for peer in state.peers { describe(peer) }
    line("errno", "0", isLast: true)
  }

  private mutating func describe(_ peer: PeerState) {
    line("public_key", hexadecimal: peer.publicKey.bytes)
    if let key = peer.presharedKey { line("preshared_key", key) } else { line("preshared_key", String(repeating: "0", count: 64)) }
    line("protocol_version", "1")
    if let endpoint = peer.endpoint { line("endpoint", endpoint.description) }
    line("last_handshake_time_sec", "\(peer.lastHandshakeSeconds)")
    line("last_handshake_time_nsec", "\(peer.lastHandshakeNanoseconds)")
    line("tx_bytes", "\(peer.sentBytes)")
    line("rx_bytes", "\(peer.receivedBytes)")
    line("persistent_keepalive_interval", "\(peer.persistentKeepalive)")
    for prefix in peer.allowedIPs { line("allowed_ip", "\(prefix)") }
  }

  private mutating func line(_ key: String, _ value: String, isLast: Bool = false) {
    bytes += key.utf8
    bytes.append(UInt8(ascii: "="))
    bytes += value.utf8
    bytes += isLast ? [10, 10] : [10]
  }

  private mutating func line(_ key: String, _ secret: SecretBytes) { secret.withUnsafeBytes { line(key, hexadecimal: $0) } }

  private mutating func line(_ key: String, hexadecimal value: some Collection<UInt8>) {
    bytes += key.utf8
    bytes.append(UInt8(ascii: "="))
    for byte in value {
      bytes.append(digit(byte >> 4))
      bytes.append(digit(byte & 15))
    }
    bytes.append(10)
  }

  private func digit(_ value: UInt8) -> UInt8 { value < 10 ? value + 48 : value + 87 }
}
