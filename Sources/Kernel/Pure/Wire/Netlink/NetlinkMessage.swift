/// One message of a netlink datagram (`struct nlmsghdr` of linux/netlink.h) with its payload.
package struct NetlinkMessage: Sendable {
  package let type: UInt16
  /// `NLM_F_*`.
  package let flags: UInt16
  package let sequence: UInt32
  /// The port of the request. Announcements of routes, rules and addresses have that of the request that caused them; 0: none did.
  package let port: UInt32
  /// Everything after the header.
  package let payload: ArraySlice<UInt8>

  /// `sizeof(struct nlmsghdr)`.
  package static let headerSize = 16

  /// `NLMSG_ERROR` and `NLMSG_DONE`.
  package static let errorType: UInt16 = 2
  package static let doneType: UInt16 = 3

  package enum Flag {
    /// `NLM_F_REQUEST`, `NLM_F_MULTI`, `NLM_F_ACK`.
    package static let request: UInt16 = 0x1
    package static let multi: UInt16 = 0x2
    package static let acknowledge: UInt16 = 0x4
    /// `NLM_F_DUMP_INTR`: the table changed during the dump, which is not of one moment.
    package static let interrupted: UInt16 = 0x10
    /// `NLM_F_DUMP`: root and match.
    package static let dump: UInt16 = 0x300
    /// `NLM_F_REPLACE`, `NLM_F_EXCL`, `NLM_F_CREATE`.
    package static let replace: UInt16 = 0x100
    package static let exclusive: UInt16 = 0x200
    package static let create: UInt16 = 0x400
    /// `NLM_F_CAPPED` and `NLM_F_ACK_TLVS` of an acknowledgement.
    package static let capped: UInt16 = 0x100
    package static let hasAttributes: UInt16 = 0x200
  }

  package var isInterrupted: Bool { flags & Flag.interrupted != 0 }

  package init(type: UInt16, flags: UInt16 = 0, sequence: UInt32 = 0, port: UInt32 = 0, payload: ArraySlice<UInt8>) {
    self.type = type
    self.flags = flags
    self.sequence = sequence
    self.port = port
    self.payload = payload
  }
}

/// The messages of a datagram, in order. Ends at the first one whose length is impossible.
package struct NetlinkMessages: Sequence, IteratorProtocol {
  private var rest: ArraySlice<UInt8>

  package init(_ datagram: some Collection<UInt8>) { rest = ArraySlice(datagram) }
  package init(_ datagram: [UInt8]) { rest = datagram[...] }

  /// Whether, at the end, the rest is no message: the datagram was cut off, or is invalid.
  package var isTorn: Bool { !rest.isEmpty }

  package mutating func next() -> NetlinkMessage? {
    guard let length = rest.host32(at: 0), let type = rest.host16(at: 4), let flags = rest.host16(at: 6),
      let sequence = rest.host32(at: 8), let port = rest.host32(at: 12),
      length >= NetlinkMessage.headerSize, Int(length) <= rest.count
    else { return nil }
    let payload = rest[rest.startIndex + NetlinkMessage.headerSize..<rest.startIndex + Int(length)]
    rest = rest.dropFirst(netlinkAligned(Int(length)))
    return NetlinkMessage(type: type, flags: flags, sequence: sequence, port: port, payload: payload)
  }
}

/// `NLMSG_ALIGN` and `NLA_ALIGN`: up to the next multiple of four.
func netlinkAligned(_ length: Int) -> Int { (length + 3) & ~3 }
