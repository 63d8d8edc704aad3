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

  private let bytes: [UInt8]
  /// Where the lines before `errno=` end.
  private let end: Int
  /// 0, or the engine's reason for a refusal, as in errno(3).
  package let errno: Int32

  package init(_ text: String) throws(Failure) { try self.init(Array(text.utf8)) }

  package init(_ bytes: [UInt8]) throws(Failure) {
    guard bytes.suffix(2).elementsEqual([10, 10]) else { throw .incomplete }
    var lines = UAPILines(bytes.dropLast(2))
    var last: UAPILine?
    while let line = try lines.next() { last = line }
    guard let last, last.key == UAPIKey.errno else { throw .incomplete }
    // wireguard-go reports the kernel's form: a negative number.
    let digits = last.value.first == UInt8(ascii: "-") ? last.value.dropFirst() : last.value
    guard let code = number(digits, Int32.self) else { throw .malformed(key: "errno") }
    self.bytes = bytes
    end = max(0, last.key.startIndex - 1)
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
    if end == 0 { return state }
    var peer: WireGuardState.Peer?
    var lines = UAPILines(bytes[..<end])
    while let line = try lines.next() {
      if line.key == UAPIKey.publicKey {
        if let peer { state.peers.append(peer) }
        peer = WireGuardState.Peer(publicKey: try line.read(WireGuardKey(hexadecimal: line.value)))
      } else if peer != nil {
        try peer?.take(line)
      } else {
        try state.take(line)
      }
    }
    if let peer { state.peers.append(peer) }
    return state
  }
}

/// A line of the protocol: a part of the answer's bytes, of which thousands of peers have many.
private struct UAPILine {
  let key: ArraySlice<UInt8>
  let value: ArraySlice<UInt8>

  func read<Value>(_ value: Value?) throws(UAPIReply.Failure) -> Value {
    guard let value else { throw .malformed(key: String(decoding: key, as: UTF8.self)) }
    return value
  }

  var text: String { String(decoding: value, as: UTF8.self) }
}

/// The lines of a text without its last end of line.
private struct UAPILines {
  private var rest: ArraySlice<UInt8>?

  init(_ text: ArraySlice<UInt8>) { rest = text }

  mutating func next() throws(UAPIReply.Failure) -> UAPILine? {
    guard let text = rest else { return nil }
    var (end, sign) = (text.startIndex, text.endIndex)
    while end < text.endIndex, text[end] != 10 {
      if sign == text.endIndex, text[end] == UInt8(ascii: "=") { sign = end }
      end += 1
    }
    guard sign < end else { throw .malformed(key: "line") }
    rest = end < text.endIndex ? text[(end + 1)...] : nil
    return UAPILine(key: text[text.startIndex..<sign], value: text[(sign + 1)..<end])
  }
}

/// The keys that are read.
private enum UAPIKey {
  static let privateKey = ArraySlice("private_key".utf8)
  static let listenPort = ArraySlice("listen_port".utf8)
  static let mark = ArraySlice("fwmark".utf8)
  static let cipher = ArraySlice("cipher".utf8)
  static let publicKey = ArraySlice("public_key".utf8)
  static let presharedKey = ArraySlice("preshared_key".utf8)
  static let endpoint = ArraySlice("endpoint".utf8)
  static let allowedIP = ArraySlice("allowed_ip".utf8)
  static let keepalive = ArraySlice("persistent_keepalive_interval".utf8)
  static let lastHandshake = ArraySlice("last_handshake_time_sec".utf8)
  static let receivedBytes = ArraySlice("rx_bytes".utf8)
  static let sentBytes = ArraySlice("tx_bytes".utf8)
  static let errno = ArraySlice("errno".utf8)
}

extension WireGuardState {
  fileprivate mutating func take(_ line: UAPILine) throws(UAPIReply.Failure) {
    switch line.key {
    case UAPIKey.privateKey:
      let secret = try line.read(SecretKey(hexadecimal: line.text))
      publicKey = secret.isZero ? nil : secret.publicKey
    case UAPIKey.listenPort: listenPort = try line.read(number(line.value, UInt16.self))
    case UAPIKey.mark: firewallMark = try line.read(number(line.value, UInt32.self))
    case UAPIKey.cipher: cipher = String(line.text.prefix(64))
    default: break
    }
  }
}

extension WireGuardState.Peer {
  fileprivate mutating func take(_ line: UAPILine) throws(UAPIReply.Failure) {
    switch line.key {
    case UAPIKey.presharedKey:
      // Most peers have none, which is told by zeros: those take no locked memory.
      if line.value.count == 64, line.value.reduce(0, { $0 | $1 ^ UInt8(ascii: "0") }) == 0 { return presharedKey = nil }
      presharedKey = try line.read(SecretKey(hexadecimal: line.text))
    case UAPIKey.endpoint: endpoint = try line.read(Endpoint(withoutZone: line.text[...]))
    case UAPIKey.allowedIP: allowedIPs.append(try line.read(IPPrefix(line.text)))
    case UAPIKey.keepalive: persistentKeepalive = try line.read(number(line.value, UInt16.self))
    case UAPIKey.lastHandshake: lastHandshake = try line.read(number(line.value, Int64.self))
    case UAPIKey.receivedBytes: receivedBytes = try line.read(number(line.value, UInt64.self))
    case UAPIKey.sentBytes: sentBytes = try line.read(number(line.value, UInt64.self))
    default: break
    }
  }
}

/// Decimal digits alone: no sign, no spaces.
private func number<Number: FixedWidthInteger>(_ digits: ArraySlice<UInt8>, _: Number.Type) -> Number? {
  if digits.isEmpty { return nil }
  var number: Number = 0
  for digit in digits {
    guard (48...57).contains(digit) else { return nil }
    let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
    let (sum, isCarried) = tens.addingReportingOverflow(Number(digit - 48))
    if isTooLarge || isCarried { return nil }
    number = sum
  }
  return number
}

extension WireGuardKey {
  /// 64 hexadecimal digits.
  fileprivate init?(hexadecimal digits: ArraySlice<UInt8>) {
    func digit(_ byte: UInt8) -> UInt8? {
      switch byte {
      case 48...57: byte - 48
      case 97...102: byte - 87
      case 65...70: byte - 55
      default: nil
      }
    }
    guard digits.count == 64 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(32)
    for i in stride(from: digits.startIndex, to: digits.endIndex, by: 2) {
      guard let high = digit(digits[i]), let low = digit(digits[i + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    self.init(bytes: bytes)
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
