package import KernelModel
package import NetworkTypes

/// `RTM_*ADDR` with `struct ifaddrmsg`: family u8, prefix length u8, flags u8, scope u8, link index u32.
package enum AddressMessage {
  package static let new: UInt16 = 20
  package static let delete: UInt16 = 21
  package static let get: UInt16 = 22
  static let headerSize = 8

  /// `IFA_*` of linux/if_addr.h.
  enum Attribute {
    static let address: UInt16 = 1
    static let local: UInt16 = 2
    static let flags: UInt16 = 8
  }

  /// `IFA_F_*` of linux/if_addr.h.
  enum Flag {
    static let noDuplicateDetection: UInt32 = 0x2
    static let noPrefixRoute: UInt32 = 0x200
  }
}

extension LinkAddress {
  /// From `RTM_NEWADDR` or `RTM_DELADDR`. On a point-to-point link the own address counts (`IFA_LOCAL`), not the peer's.
  package init?(_ message: NetlinkMessage, linkNames: [UInt32: String]) {
    let payload = message.payload
    guard message.type == AddressMessage.new || message.type == AddressMessage.delete,
      let family = payload.byte(at: 0).flatMap({ IPAddress.Family(addressFamily: $0) }), let length = payload.byte(at: 1),
      let headerFlags = payload.byte(at: 2), let index = payload.host32(at: 4)
    else { return nil }
    var address: IPAddress?
    var local: IPAddress?
    var flags = UInt32(headerFlags)
    for attribute in NetlinkAttributes(payload, after: AddressMessage.headerSize) {
      switch attribute.type {
      case AddressMessage.Attribute.address: address = IPAddress(network: attribute.payload, family)
      case AddressMessage.Attribute.local: local = IPAddress(network: attribute.payload, family)
      case AddressMessage.Attribute.flags: flags = attribute.payload.host32() ?? flags
      default: continue
      }
    }
    guard let own = local ?? address, let whole = InterfaceAddress(own, prefixLength: Int(length)) else { return nil }
    self.init(link: linkNames.name(of: index), address: whole, flags: flags)
  }
}

extension NetlinkWriter {
  package mutating func dumpAddresses(sequence: UInt32) {
    message(AddressMessage.get, flags: NetlinkMessage.Flag.dump, sequence: sequence) { writer in
      writer.host32(0)
      writer.host32(0)
    }
  }

  /// The address makes no route: what goes into a tunnel is in the tunnel's own table alone, whatever prefix length a server sends. IPv6
  /// addresses are usable at once: duplicate address detection is pointless on a tunnel.
  package mutating func addAddress(_ address: InterfaceAddress, toLink index: UInt32, sequence: UInt32, flags: UInt16) {
    let flags = flags | NetlinkMessage.Flag.create | NetlinkMessage.Flag.exclusive
    message(AddressMessage.new, flags: flags, sequence: sequence) {
      let isV6 = address.address.family == .v6
      $0.addressBody(address, index: index)
      $0.attribute(
        AddressMessage.Attribute.flags,
        host32: AddressMessage.Flag.noPrefixRoute | (isV6 ? AddressMessage.Flag.noDuplicateDetection : 0))
    }
  }

  package mutating func removeAddress(_ address: InterfaceAddress, fromLink index: UInt32, sequence: UInt32, flags: UInt16) {
    message(AddressMessage.delete, flags: flags, sequence: sequence) { $0.addressBody(address, index: index) }
  }

  private mutating func addressBody(_ address: InterfaceAddress, index: UInt32) {
    raw([address.address.family.addressFamily, UInt8(address.prefixLength), 0, 0])
    host32(index)
    attribute(AddressMessage.Attribute.local, address.address)
    attribute(AddressMessage.Attribute.address, address.address)
  }
}

extension [UInt32: String] {
  /// The link's name; `if7`, as ip(8) prints it, for a link that was added after the names were read.
  func name(of index: UInt32) -> String { self[index] ?? "if\(index)" }
}
