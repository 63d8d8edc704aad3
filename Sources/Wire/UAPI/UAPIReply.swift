package import KernelModel
internal import KeyMemory
internal import NetworkTypes

/// An answer to a `UAPIRequest`: its lines up to the empty one, the last of which is `errno=`.
///
/// Reading is total: any text gives a value or an error. Keys of later protocol versions are ignored.
package struct UAPIReply: Sendable {
  package enum Failure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The text ends before its empty line, or its last line is no `errno=`.
    case incomplete
    /// The named key's value, or a line that should have been `key=value`. The value is left out: it may be a secret.
    case malformed(key: String)
    /// `errno`, as a positive number.
    case refused(Int32)

    package var description: String {
      switch self {
      case .incomplete: "the engine's answer breaks off"
      case .malformed(let key): "the engine's answer has an unreadable \(key)"
      case .refused(let code): "the engine refused the request (error \(code))"
      }
    }
  }

  private let lines: [(key: Substring, value: Substring)]
  /// 0, or the engine's reason for a refusal, as in errno(3).
  package let errno: Int32

  package init(_ text: String) throws(Failure) {
    guard text.utf8.suffix(2).elementsEqual([10, 10]) else { throw .incomplete }
    var lines: [(key: Substring, value: Substring)] = []
    for line in text.utf8.dropLast(2).split(separator: 10, omittingEmptySubsequences: false) {
      guard let sign = line.firstIndex(of: UInt8(ascii: "=")) else { throw .malformed(key: "line") }
      lines.append((Substring(line[..<sign]), Substring(line[line.index(after: sign)...])))
    }
    guard let last = lines.popLast(), last.key == "errno" else { throw .incomplete }
    // wireguard-go reports the kernel's form: a negative number.
    let digits = last.value.utf8.first == UInt8(ascii: "-") ? last.value.dropFirst() : last.value
    guard let code = number(digits, Int32.self) else { throw .malformed(key: "errno") }
    self.lines = lines
    errno = code
  }

  /// Throws if the engine refused.
  package func check() throws(Failure) {
    if errno != 0 { throw .refused(errno) }
  }

  /// The answer to `get=1`. It contains the private key, from which the public one is derived; then it is discarded.
  package func state() throws(Failure) -> WireGuardState {
    try check()
    var state = WireGuardState(engine: .userspace)
    var peer: WireGuardState.Peer?
    for (key, value) in lines {
      if key == "public_key" {
        if let peer { state.peers.append(peer) }
        peer = WireGuardState.Peer(publicKey: try read(key, WireGuardKey(hexadecimal: value)))
      } else if peer != nil {
        try peer?.take(key, value)
      } else {
        try state.take(key, value)
      }
    }
    if let peer { state.peers.append(peer) }
    return state
  }
}

extension WireGuardState {
  fileprivate mutating func take(_ key: Substring, _ value: Substring) throws(UAPIReply.Failure) {
    switch key {
    case "private_key":
      let secret = try read(key, SecretKey(hexadecimal: value))
      publicKey = secret.isZero ? nil : secret.publicKey
    case "listen_port": listenPort = try read(key, number(value, UInt16.self))
    case "fwmark": firewallMark = try read(key, number(value, UInt32.self))
    case "cipher": cipher = String(value.prefix(64))
    default: break
    }
  }
}

extension WireGuardState.Peer {
  fileprivate mutating func take(_ key: Substring, _ value: Substring) throws(UAPIReply.Failure) {
    switch key {
    case "preshared_key":
      let secret = try read(key, SecretKey(hexadecimal: value))
      presharedKey = secret.isZero ? nil : secret
    case "endpoint": endpoint = try read(key, Endpoint(withoutZone: value))
    case "allowed_ip": allowedIPs.append(try read(key, IPPrefix(String(value))))
    case "persistent_keepalive_interval": persistentKeepalive = try read(key, number(value, UInt16.self))
    case "last_handshake_time_sec": lastHandshake = try read(key, number(value, Int64.self))
    case "rx_bytes": receivedBytes = try read(key, number(value, UInt64.self))
    case "tx_bytes": sentBytes = try read(key, number(value, UInt64.self))
    default: break
    }
  }
}

private func read<Value>(_ key: Substring, _ value: Value?) throws(UAPIReply.Failure) -> Value {
  guard let value else { throw .malformed(key: String(key)) }
  return value
}

/// Decimal digits alone: no sign, no spaces.
private func number<Number: FixedWidthInteger>(_ text: Substring, _: Number.Type) -> Number? {
  text.utf8.allSatisfy { (48...57).contains($0) } ? Number(text) : nil
}

extension WireGuardKey {
  /// 64 hexadecimal digits.
  fileprivate init?(hexadecimal text: Substring) {
    func digit(_ byte: UInt8) -> UInt8? {
      switch byte {
      case 48...57: byte - 48
      case 97...102: byte - 87
      case 65...70: byte - 55
      default: nil
      }
    }
    let digits = text.utf8.compactMap(digit)
    guard digits.count == 64, text.utf8.count == 64 else { return nil }
    self.init(bytes: (0..<32).map { digits[2 * $0] << 4 | digits[2 * $0 + 1] })
  }
}

extension Endpoint {
  /// An address and a port; the zone of a link-local address (`[fe80::1%eth0]:51820`) is left out.
  fileprivate init?(withoutZone text: Substring) {
    let bare: String
    if let zone = text.utf8.firstIndex(of: UInt8(ascii: "%")), let end = text.utf8.lastIndex(of: UInt8(ascii: "]")), zone < end {
      bare = String(text[..<zone]) + String(text[end...])
    } else {
      bare = String(text)
    }
    self.init(bare)
    if address == nil { return nil }
  }
}
