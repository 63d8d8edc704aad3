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
  /// The offset of the end of the lines before `errno=`; -1: there are none.
  private let end: Int
  /// 0, or the engine's reason for a refusal, as in errno(3).
  package let errno: Int32

  package init(_ text: String) throws(Failure) { try self.init(Array(text.utf8)) }

  package init(_ bytes: [UInt8]) throws(Failure) {
    guard bytes.suffix(2).elementsEqual([10, 10]) else { throw .incomplete }
    var lines = UAPILines(bytes, end: bytes.count - 2)
    // There is a first one, if only an empty one, which is malformed.
    while try lines.advance() {}
    guard lines.key == .errno else { throw .incomplete }
    self.bytes = bytes
    end = lines.start - 1
    errno = try lines.errno()
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
    var lines = UAPILines(bytes, end: end)
    while try lines.advance() {
      if lines.key == .publicKey {
        if let peer { state.peers.append(peer) }
        peer = WireGuardState.Peer(publicKey: try lines.publicKey())
      } else if peer != nil {
        try peer?.take(lines)
      } else {
        try state.take(lines)
      }
    }
    if let peer { state.peers.append(peer) }
    return state
  }
}

/// The keys that are read.
private enum UAPIKey: String {
  case errno, cipher, endpoint
  case mark = "fwmark"
  case receivedBytes = "rx_bytes"
  case sentBytes = "tx_bytes"
  case publicKey = "public_key"
  case allowedIP = "allowed_ip"
  case privateKey = "private_key"
  case listenPort = "listen_port"
  case presharedKey = "preshared_key"
  case lastHandshake = "last_handshake_time_sec"
  case keepalive = "persistent_keepalive_interval"

  init?(_ text: ArraySlice<UInt8>) {
    let candidate: UAPIKey? =
      switch (text.count, text.first) {
      case (5, _): .errno
      case (6, UInt8(ascii: "c")): .cipher
      case (6, _): .mark
      case (8, UInt8(ascii: "e")): .endpoint
      case (8, UInt8(ascii: "r")): .receivedBytes
      case (8, _): .sentBytes
      case (10, UInt8(ascii: "p")): .publicKey
      case (10, _): .allowedIP
      case (11, UInt8(ascii: "p")): .privateKey
      case (11, _): .listenPort
      case (13, _): .presharedKey
      case (23, _): .lastHandshake
      case (29, _): .keepalive
      default: nil
      }
    guard let candidate, candidate.rawValue.utf8.elementsEqual(text) else { return nil }
    self = candidate
  }
}

/// The lines of an answer, one after the other. A line is a place in the bytes: thousands of peers have many, and none is copied.
private struct UAPILines {
  private let bytes: [UInt8]
  private let end: Int
  /// The offset of the next line.
  private var next = 0
  /// The offset of the present line; `sign` is that of its `=`.
  private(set) var start = 0
  private var sign = 0
  /// The present line's key; `nil`: none that is read.
  private(set) var key: UAPIKey?

  /// The lines before `end`, which is the place of the last one's end of line. Less than 0: there are none.
  init(_ bytes: [UInt8], end: Int) {
    self.bytes = bytes
    self.end = end
  }

  /// Goes to the next line; false: there is none.
  mutating func advance() throws(UAPIReply.Failure) -> Bool {
    guard next <= end else { return false }
    (start, sign) = (next, end)
    while next < end, bytes[next] != 10 {
      if sign == end, bytes[next] == UInt8(ascii: "=") { sign = next }
      next += 1
    }
    guard sign < next else { throw .malformed(key: "line") }
    key = UAPIKey(bytes[start..<sign])
    next += 1
    return true
  }

  private var value: Range<Int> { sign + 1..<next - 1 }
  var text: String { String(decoding: bytes[value], as: UTF8.self) }

  func read<Value>(_ value: Value?) throws(UAPIReply.Failure) -> Value {
    guard let value else { throw .malformed(key: String(decoding: bytes[start..<sign], as: UTF8.self)) }
    return value
  }

  /// Decimal digits alone: no sign, no spaces.
  func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) throws(UAPIReply.Failure) -> Number {
    try read(number(in: value))
  }

  /// wireguard-go reports the kernel's form: a negative number.
  func errno() throws(UAPIReply.Failure) -> Int32 {
    try read(number(in: bytes[value].first == UInt8(ascii: "-") ? value.dropFirst() : value))
  }

  private func number<Number: FixedWidthInteger>(in digits: Range<Int>) -> Number? {
    if digits.isEmpty { return nil }
    var number: Number = 0
    for place in digits {
      guard (48...57).contains(bytes[place]) else { return nil }
      let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, isCarried) = tens.addingReportingOverflow(Number(bytes[place] - 48))
      if isTooLarge || isCarried { return nil }
      number = sum
    }
    return number
  }

  /// 64 hexadecimal digits.
  func publicKey() throws(UAPIReply.Failure) -> WireGuardKey {
    func digit(_ byte: UInt8) -> UInt8? {
      switch byte {
      case 48...57: byte - 48
      case 97...102: byte - 87
      case 65...70: byte - 55
      default: nil
      }
    }
    var key: [UInt8] = []
    if value.count == 64 {
      key.reserveCapacity(32)
      for place in stride(from: value.lowerBound, to: value.upperBound, by: 2) {
        key.append(try read(digit(bytes[place])) << 4 | read(digit(bytes[place + 1])))
      }
    }
    return try read(WireGuardKey(bytes: key))
  }

  /// Whether the value of a key is only zeros, which is how an engine tells that there is none. It takes the same time for all keys.
  var isZero: Bool { value.count == 64 && value.reduce(0) { $0 | bytes[$1] ^ UInt8(ascii: "0") } == 0 }
}

extension WireGuardState {
  fileprivate mutating func take(_ line: UAPILines) throws(UAPIReply.Failure) {
    switch line.key {
    case .privateKey:
      let secret = try line.read(SecretKey(hexadecimal: line.text))
      publicKey = secret.isZero ? nil : secret.publicKey
    case .listenPort: listenPort = try line.number()
    case .mark: firewallMark = try line.number()
    case .cipher: cipher = String(line.text.prefix(64))
    default: break
    }
  }
}

extension WireGuardState.Peer {
  fileprivate mutating func take(_ line: UAPILines) throws(UAPIReply.Failure) {
    switch line.key {
    // Most peers have none: that takes no locked memory.
    case .presharedKey: presharedKey = line.isZero ? nil : try line.read(SecretKey(hexadecimal: line.text))
    case .endpoint: endpoint = try line.read(Endpoint(withoutZone: line.text[...]))
    case .allowedIP: allowedIPs.append(try line.read(IPPrefix(line.text)))
    case .keepalive: persistentKeepalive = try line.number()
    case .lastHandshake: lastHandshake = try line.number()
    case .receivedBytes: receivedBytes = try line.number()
    case .sentBytes: sentBytes = try line.number()
    default: break
    }
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
