package import NetworkTypes

/// One attribute (`struct nlattr`): a type without its flag bits, and its bytes.
package struct NetlinkAttribute: Sendable {
  package let type: UInt16
  package let payload: ArraySlice<UInt8>

  /// The nested attributes; each level is read by name, so no message can nest deeper than its reader.
  package var nested: NetlinkAttributes { NetlinkAttributes(payload) }
}

/// A sequence of attributes. Ends at the first one whose length is impossible.
package struct NetlinkAttributes: Sequence, IteratorProtocol {
  private var rest: ArraySlice<UInt8>

  package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// The attributes that follow a fixed header of `size` bytes.
  package init(_ payload: ArraySlice<UInt8>, after size: Int) { rest = payload.dropFirst(netlinkAligned(size)) }

  package mutating func next() -> NetlinkAttribute? {
    guard let length = rest.host16(at: 0), let type = rest.host16(at: 2), length >= 4, Int(length) <= rest.count else { return nil }
    let payload = rest[rest.startIndex + 4..<rest.startIndex + Int(length)]
    rest = rest.dropFirst(netlinkAligned(Int(length)))
    // NLA_TYPE_MASK: without NLA_F_NESTED and NLA_F_NET_BYTEORDER.
    return NetlinkAttribute(type: type & 0x3fff, payload: payload)
  }

  /// The first attribute of a type.
  package func first(_ type: UInt16) -> NetlinkAttribute? { first { $0.type == type } }
}

/// The place of an attribute in the bytes of a message. Reading at a place copies no reference: for 100,000 routes of a table this is half
/// of the time.
struct NetlinkAttributePlace {
  /// Without its flag bits.
  let type: UInt16
  /// The first byte of the value, and its length.
  let start: Int
  let count: Int

  /// The attribute whose header is at this offset; `nil` if its length is impossible, as at the end.
  init?(in bytes: ArraySlice<UInt8>, at offset: Int) {
    guard let length = bytes.host16(at: offset), let type = bytes.host16(at: offset + 2), length >= 4,
      offset + Int(length) <= bytes.count
    else { return nil }
    self.type = type & 0x3fff
    start = offset + 4
    count = Int(length) - 4
  }

  /// The offset of the next attribute's header.
  var next: Int { start + netlinkAligned(count) }

  /// The value as a number in host order; `nil` if it is too short.
  func host32(in bytes: ArraySlice<UInt8>) -> UInt32? { count >= 4 ? bytes.host32(at: start) : nil }
}

extension IPAddress.Family {
  /// `AF_INET` or `AF_INET6` of sys/socket.h.
  package init?(addressFamily: some BinaryInteger) {
    switch addressFamily {
    case 2: self = .v4
    case 10: self = .v6
    default: return nil
    }
  }

  package var addressFamily: UInt8 { self == .v4 ? 2 : 10 }
}

extension IPAddress {
  /// The address that has exactly these bytes: 4 or 16 in network order.
  init?(network bytes: ArraySlice<UInt8>) {
    if bytes.count == 4, let value = bytes.network32() {
      self.init(v4: value)
    } else if bytes.count == 16, let high = bytes.network64(), let low = bytes.network64(at: 8) {
      self.init(family: .v6, high: high, low: low)
    } else {
      return nil
    }
  }

  init?(network bytes: ArraySlice<UInt8>, _ family: Family) {
    self.init(network: bytes)
    guard self.family == family else { return nil }
  }

  /// The address that a part of the bytes contains; `nil` for a length other than 4 or 16.
  init?(network bytes: ArraySlice<UInt8>, at offset: Int, count: Int) {
    if count == 4, let value = bytes.network32(at: offset) {
      self.init(v4: value)
    } else if count == 16, let high = bytes.network64(at: offset), let low = bytes.network64(at: offset + 8) {
      self.init(family: .v6, high: high, low: low)
    } else {
      return nil
    }
  }
}
