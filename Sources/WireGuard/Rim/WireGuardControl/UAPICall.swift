package import NetworkTypes

/// A request of the cross-platform userspace protocol (https://www.wireguard.com/xplatform/), as an engine reads it.
///
/// Parsing is total: any bytes give a value or an error. Secrets are not copied: a call contains the position of their digits, so that the
/// owner of the bytes can wipe them.
package enum UAPICall: Hashable, Sendable {
  /// `peers`: an extension of ours: `public_key` lines ask for these peers alone. Empty: for all.
  case get(peers: [[UInt8]])
  case set(UAPIDeviceChange)

  package enum Failure: Error, Hashable, Sendable {
    /// The key or operation does not exist.
    case unknown
    /// A value cannot be parsed, or a line is at a wrong place.
    case malformed
  }

  /// `bytes`: the request up to the empty line that ends it, with or without that line.
  package init(_ bytes: [UInt8]) throws(Failure) {
    var reader = LineReader(bytes)
    guard let (key, value) = try reader.next(), reader.text(value) == "1" else { throw .malformed }
    switch key {
    case "get":
      var peers: [[UInt8]] = []
      while let (key, value) = try reader.next() {
        guard key == "public_key" else { throw .unknown }
        guard let bytes = reader.hexadecimal(value) else { throw .malformed }
        peers.append(bytes)
      }
      self = .get(peers: peers)
    case "set":
      var change = UAPIDeviceChange()
      while let (key, value) = try reader.next() { try change.take(key, value, reader) }
      self = .set(change)
    default: throw .unknown
    }
  }

  /// The end of a request in the bytes so far, behind its empty line; `nil` if more bytes are needed.
  package static func end(in bytes: [UInt8]) -> Int? {
    var i = 0
    while i + 1 < bytes.count {
      if bytes[i] == 10, bytes[i + 1] == 10 { return i + 2 }
      i += 1
    }
    return nil
  }
}

/// The changes that a `set=1` requests. `nil` leaves a setting as it is.
package struct UAPIDeviceChange: Hashable, Sendable {
  /// The position of the 64 digits; all zeros remove the key.
  package var privateKey: Range<Int>?
  package var listenPort: UInt16?
  package var firewallMark: UInt32?
  package var replacesPeers = false
  package var peers: [UAPIPeerChange] = []

  package init() {}

  fileprivate mutating func take(_ key: String, _ value: Range<Int>, _ reader: LineReader) throws(UAPICall.Failure) {
    switch key {
    case "public_key":
      guard let key = reader.hexadecimal(value) else { throw .malformed }
      return peers.append(UAPIPeerChange(publicKey: key))
    case _ where !peers.isEmpty: return try peers[peers.count - 1].take(key, value, reader)
    case "private_key":
      guard reader.isHexadecimal(value) else { throw .malformed }
      privateKey = value
    case "listen_port": listenPort = try reader.number(value)
    case "fwmark": firewallMark = try reader.number(value)
    case "replace_peers": replacesPeers = try reader.truth(value)
    default: throw .unknown
    }
  }
}

package struct UAPIPeerChange: Hashable, Sendable {
  /// 32 bytes.
  package var publicKey: [UInt8]
  package var removes = false
  package var updatesOnly = false
  package var presharedKey: Range<Int>?
  package var endpoint: UAPIEndpoint?
  /// An extension of ours: `probe=` sends an initiation to this address, while sessions and endpoint stay as they are.
  package var probe: UAPIEndpoint?
  package var persistentKeepalive: UInt16?
  package var replacesAllowedIPs = false
  package var allowedIPs: [IPPrefix] = []
  package var removedAllowedIPs: [IPPrefix] = []

  package init(publicKey: [UInt8]) { self.publicKey = publicKey }

  fileprivate mutating func take(_ key: String, _ value: Range<Int>, _ reader: LineReader) throws(UAPICall.Failure) {
    switch key {
    case "remove": removes = try reader.truth(value)
    case "update_only": updatesOnly = try reader.truth(value)
    case "preshared_key":
      guard reader.isHexadecimal(value) else { throw .malformed }
      presharedKey = value
    case "endpoint":
      guard let read = UAPIEndpoint(reader.text(value)) else { throw .malformed }
      endpoint = read
    case "probe":
      guard let read = UAPIEndpoint(reader.text(value)) else { throw .malformed }
      probe = read
    case "persistent_keepalive_interval": persistentKeepalive = try reader.number(value)
    case "replace_allowed_ips": replacesAllowedIPs = try reader.truth(value)
    case "allowed_ip":
      let text = reader.text(value)
      let isRemoval = text.hasPrefix("-")
      guard let prefix = IPPrefix(isRemoval ? String(text.dropFirst()) : text) else { throw .malformed }
      if isRemoval { removedAllowedIPs.append(prefix) } else { allowedIPs.append(prefix) }
    case "protocol_version":
      guard reader.text(value) == "1" else { throw .malformed }
    default: throw .unknown
    }
  }
}

/// A numeric address with a port. A link-local address has a zone too: the name or number of a link.
package struct UAPIEndpoint: Hashable, Sendable {
  package let address: IPAddress
  package let port: UInt16
  package let zone: String?

  /// `192.0.2.1:51820`, `[2001:db8::1]:51820`, `[fe80::1%eth0]:51820`.
  package init?(_ text: String) {
    var bare = text
    var zone: String?
    if let sign = text.firstIndex(of: "%"), let end = text.lastIndex(of: "]"), sign < end {
      zone = String(text[text.index(after: sign)..<end])
      bare = String(text[..<sign]) + String(text[end...])
    }
    guard let endpoint = Endpoint(bare), let address = endpoint.address, zone != "" else { return nil }
    self.address = address
    port = endpoint.port
    self.zone = zone
  }
}

/// Lines of `key=value`.
private struct LineReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The next line; `nil` at the empty line or the end.
  mutating func next() throws(UAPICall.Failure) -> (key: String, value: Range<Int>)? {
    let start = position
    let end = bytes[start...].firstIndex(of: 10) ?? bytes.count
    guard end > start else { return nil }
    position = min(end + 1, bytes.count)
    guard let sign = bytes[start..<end].firstIndex(of: UInt8(ascii: "=")) else { throw .malformed }
    return (String(decoding: bytes[start..<sign], as: UTF8.self), sign + 1..<end)
  }

  func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  func truth(_ range: Range<Int>) throws(UAPICall.Failure) -> Bool {
    // The protocol accepts only `true`; wg(8) sends nothing else.
    guard text(range) == "true" else { throw .malformed }
    return true
  }

  /// Decimal digits only, or 0x and hexadecimal digits.
  func number<Number: FixedWidthInteger>(_ range: Range<Int>) throws(UAPICall.Failure) -> Number {
    let text = text(range)
    let digits = text.hasPrefix("0x") ? text.dropFirst(2) : text[...]
    guard digits.first?.isHexDigit == true, let number = Number(digits, radix: text.hasPrefix("0x") ? 16 : 10) else { throw .malformed }
    return number
  }

  /// 64 hexadecimal digits.
  func isHexadecimal(_ range: Range<Int>) -> Bool {
    range.count == 64 && bytes[range].allSatisfy { UAPICall.byte(0x30, $0) != nil }
  }

  /// The 32 bytes of 64 hexadecimal digits. Not for secrets.
  func hexadecimal(_ range: Range<Int>) -> [UInt8]? {
    guard isHexadecimal(range) else { return nil }
    return stride(from: range.lowerBound, to: range.upperBound, by: 2).compactMap { UAPICall.byte(bytes[$0], bytes[$0 + 1]) }
  }
}

extension UAPICall {
  /// Two hexadecimal digits.
  package static func byte(_ high: UInt8, _ low: UInt8) -> UInt8? {
    func digit(_ byte: UInt8) -> UInt8? {
      switch byte {
      case 48...57: byte - 48
      case 97...102: byte - 87
      case 65...70: byte - 55
      default: nil
      }
    }
    guard let high = digit(high), let low = digit(low) else { return nil }
    return high << 4 | low
  }
}
