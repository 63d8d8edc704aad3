package import KernelModel
import NetworkTypes

/// `RTM_*LINK` of linux/rtnetlink.h with `struct ifinfomsg`: family u8, pad u8, type u16, index i32, flags u32, change u32.
package enum LinkMessage {
  package static let new: UInt16 = 16
  package static let delete: UInt16 = 17
  package static let get: UInt16 = 18
  package static let headerSize = 16

  /// `IFLA_*` of linux/if_link.h.
  package enum Attribute {
    static let address: UInt16 = 1
    static let lower: UInt16 = 5
    package static let name: UInt16 = 3
    static let mtu: UInt16 = 4
    package static let master: UInt16 = 10
    package static let wireless: UInt16 = 11
    static let info: UInt16 = 18
    static let alias: UInt16 = 20
    static let extendedMask: UInt16 = 29
    /// `IFLA_LINK_NETNSID`: the lower link, or the other end, is in another namespace.
    static let lowerNamespace: UInt16 = 37
    /// `IFLA_INFO_KIND`, `_DATA`, `_SLAVE_KIND` and `_SLAVE_DATA`, within `IFLA_LINKINFO`.
    static let kind: UInt16 = 1
    static let data: UInt16 = 2
    static let portKind: UInt16 = 4
    static let portData: UInt16 = 5
    /// `IFLA_XFRM_IF_ID`, within the data of an XFRM interface.
    static let xfrmIdentifier: UInt16 = 2
    /// `IFLA_BOND_ACTIVE_SLAVE`, within a bond's data.
    static let activePort: UInt16 = 2
    /// `IFLA_BOND_SLAVE_STATE`, within the data of a bond's port; 1: `BOND_STATE_BACKUP`.
    static let portState: UInt16 = 1
  }

  /// Whether it is a wireless extensions event: scan results and the like, without data on the link. (Bridge ports come as family
  /// `AF_BRIDGE`.)
  package static func isNoise(_ message: NetlinkMessage) -> Bool {
    if message.payload.byte(at: 0) != 0 { return true }
    guard message.payload.host32(at: 12) == 0, message.type == new else { return false }
    return NetlinkAttributes(message.payload, after: headerSize).first(Attribute.wireless) != nil
  }
}

extension Link {
  /// From `RTM_NEWLINK` or `RTM_DELLINK`; `nil` for anything else, and for a message without index or name.
  package init?(_ message: NetlinkMessage) {
    let payload = message.payload
    guard message.type == LinkMessage.new || message.type == LinkMessage.delete, payload.byte(at: 0) == 0,
      let hardwareType = payload.host16(at: 2), let index = payload.host32(at: 4).flatMap(InterfaceIndex.init),
      let flags = payload.host32(at: 8)
    else { return nil }
    self.init(index: index, name: "", hardwareType: hardwareType, flags: flags, mtu: 0)
    var isLowerElsewhere = false
    for attribute in NetlinkAttributes(payload, after: LinkMessage.headerSize) {
      switch attribute.type {
      case LinkMessage.Attribute.name: name = attribute.payload.text
      case LinkMessage.Attribute.address: address = MACAddress(bytes: attribute.payload)
      case LinkMessage.Attribute.mtu: mtu = attribute.payload.host32() ?? 0
      case LinkMessage.Attribute.master: master = attribute.payload.host32().flatMap(InterfaceIndex.init)
      case LinkMessage.Attribute.alias: alias = attribute.payload.isEmpty ? nil : attribute.payload.text
      case LinkMessage.Attribute.lower: lower = attribute.payload.host32().flatMap(InterfaceIndex.init)
      case LinkMessage.Attribute.lowerNamespace: isLowerElsewhere = true
      case LinkMessage.Attribute.info: readInfo(attribute.nested)
      default: continue
      }
    }
    if isLowerElsewhere || lower == index { lower = nil }
    guard !name.isEmpty else { return nil }
  }

  private mutating func readInfo(_ info: NetlinkAttributes) {
    kind = info.first(LinkMessage.Attribute.kind)?.payload.text
    if kind == "bond" {
      activePort = info.first(LinkMessage.Attribute.data)?.nested.first(LinkMessage.Attribute.activePort)?.payload.host32()
        .flatMap(InterfaceIndex.init)
    }
    if info.first(LinkMessage.Attribute.portKind)?.payload.text == "bond" {
      isBackup = info.first(LinkMessage.Attribute.portData)?.nested.first(LinkMessage.Attribute.portState)?.payload.byte(at: 0) == 1
    }
  }
}

extension NetlinkWriter {
  /// Requests all links, without their statistics (`RTEXT_FILTER_SKIP_STATS`).
  package mutating func dumpLinks(sequence: UInt32) {
    message(LinkMessage.get, flags: NetlinkMessage.Flag.dump, sequence: sequence) { writer in
      writer.linkHeader(index: 0)
      writer.attribute(LinkMessage.Attribute.extendedMask, host32: 0x8)
    }
  }

  /// Requests the link of this name, or with it as another name; ENODEV if there is none. An acknowledgement follows.
  package mutating func getLink(named name: String, sequence: UInt32) {
    message(LinkMessage.get, flags: NetlinkMessage.Flag.acknowledge, sequence: sequence) { writer in
      writer.linkHeader(index: 0)
      writer.attribute(LinkMessage.Attribute.name, text: name)
      writer.attribute(LinkMessage.Attribute.extendedMask, host32: 0x8)
    }
  }

  /// Creates a link of a kind; EEXIST if one of the name exists, EOPNOTSUPP if the kernel lacks the kind. `xfrm`: the identifier of an XFRM
  /// interface, of which the kernel allows one.
  package mutating func addLink(named name: String, kind: String, xfrm: UInt32? = nil, sequence: UInt32, flags: UInt16) {
    let flags = flags | NetlinkMessage.Flag.create | NetlinkMessage.Flag.exclusive
    message(LinkMessage.new, flags: flags, sequence: sequence) { writer in
      writer.linkHeader(index: 0)
      writer.attribute(LinkMessage.Attribute.name, text: name)
      writer.nested(LinkMessage.Attribute.info) { info in
        info.attribute(LinkMessage.Attribute.kind, kind.utf8)
        if let xfrm { info.nested(LinkMessage.Attribute.data) { $0.attribute(LinkMessage.Attribute.xfrmIdentifier, host32: xfrm) } }
      }
    }
  }

  /// Sets the alias, at most 255 bytes; an empty one removes it.
  package mutating func setAlias(_ alias: String, ofLink index: UInt32, sequence: UInt32, flags: UInt16) {
    message(LinkMessage.new, flags: flags, sequence: sequence) { writer in
      writer.linkHeader(index: index)
      writer.attribute(LinkMessage.Attribute.alias, alias.utf8)
    }
  }

  package mutating func setMTU(_ mtu: UInt32, ofLink index: UInt32, sequence: UInt32, flags: UInt16) {
    message(LinkMessage.new, flags: flags, sequence: sequence) { writer in
      writer.linkHeader(index: index)
      writer.attribute(LinkMessage.Attribute.mtu, host32: mtu)
    }
  }

  /// Sets or clears `IFF_UP`.
  package mutating func setLink(_ index: UInt32, isUp: Bool, sequence: UInt32, flags: UInt16) {
    message(LinkMessage.new, flags: flags, sequence: sequence) { $0.linkHeader(index: index, flags: isUp ? 1 : 0, change: 1) }
  }

  package mutating func deleteLink(_ index: UInt32, sequence: UInt32, flags: UInt16) {
    message(LinkMessage.delete, flags: flags, sequence: sequence) { $0.linkHeader(index: index) }
  }

  private mutating func linkHeader(index: UInt32, flags: UInt32 = 0, change: UInt32 = 0) {
    host32(0)
    host32(index)
    host32(flags)
    host32(change)
  }
}
