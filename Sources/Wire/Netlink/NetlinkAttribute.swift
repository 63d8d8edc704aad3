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
}
