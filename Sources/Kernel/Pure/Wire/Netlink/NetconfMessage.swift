/// `RTM_NEWNETCONF` with `struct netconfmsg` (linux/netconf.h): family u8, and attributes. Sent after a change of
/// `/proc/sys/net/ipv4/conf`.
package enum NetconfMessage {
  package static let new: UInt16 = 80
  /// A link is gone, with its settings.
  package static let delete: UInt16 = 81
  package static let headerSize = 1

  /// `NETCONFA_*` of linux/netconf.h.
  package enum Attribute {
    package static let link: UInt16 = 1
    package static let reversePathFilter: UInt16 = 3
  }

  /// `NETCONFA_IFINDEX_ALL`: the value that counts beside each link's own.
  package static let allLinks: UInt32 = .max

  /// The link whose reverse path filter (`rp_filter`) was set: its index, or `allLinks`; `nil` for every other setting.
  package static func linkWithReversePathFilter(in message: NetlinkMessage) -> UInt32? {
    let attributes = NetlinkAttributes(message.payload, after: headerSize)
    guard attributes.first(Attribute.reversePathFilter) != nil else { return nil }
    return attributes.first(Attribute.link)?.payload.host32()
  }
}
