package import KernelModel
package import NetworkTypes

/// `RTM_*NEIGH` with `struct ndmsg`: family u8, three bytes pad, link index i32, state u16, flags u8, type u8.
package enum NeighbourMessage {
  package static let new: UInt16 = 28
  package static let delete: UInt16 = 29
  package static let get: UInt16 = 30
  static let headerSize = 12
  /// `NTF_USE`: as if a packet were sent there.
  static let useFlag: UInt8 = 0x01

  /// `NDA_*` of linux/neighbour.h.
  package enum Attribute {
    package static let address: UInt16 = 1
    package static let hardwareAddress: UInt16 = 2
  }

  /// `NUD_INCOMPLETE` and `NUD_FAILED`: no answer. `NUD_NOARP`: no query.
  package static let unansweredStates: UInt16 = 0x21
  package static let unaskedState: UInt16 = 0x40

  /// The address that a neighbour message concerns; `nil` for forwarding entries of bridges and the like.
  package static func address(of message: NetlinkMessage) -> IPAddress? {
    guard let family = message.payload.byte(at: 0).flatMap({ IPAddress.Family(addressFamily: $0) }),
      let attribute = NetlinkAttributes(message.payload, after: headerSize).first(Attribute.address)
    else { return nil }
    return IPAddress(network: attribute.payload, family)
  }
}

extension Neighbour {
  /// From `RTM_NEWNEIGH` or `RTM_DELNEIGH`; `nil` for links and groups without address resolution (`NUD_NOARP`).
  package init?(_ message: NetlinkMessage, linkNames: [UInt32: String]) {
    guard message.type == NeighbourMessage.new || message.type == NeighbourMessage.delete,
      let index = message.payload.host32(at: 4), let state = message.payload.host16(at: 8),
      state & NeighbourMessage.unaskedState == 0, let address = NeighbourMessage.address(of: message)
    else { return nil }
    let hardware = NetlinkAttributes(message.payload, after: NeighbourMessage.headerSize).first(NeighbourMessage.Attribute.hardwareAddress)
    let isAnswered = state & NeighbourMessage.unansweredStates == 0
    self.init(
      link: linkNames.name(of: index), address: address, macAddress: isAnswered ? hardware.flatMap { MACAddress(bytes: $0.payload) } : nil)
  }
}

extension NetlinkWriter {
  /// Makes the kernel resolve the neighbour's hardware address, as the first packet to it would (`ip neigh add ADDRESS dev LINK use`).
  package mutating func resolveNeighbour(_ address: IPAddress, onLink index: UInt32, sequence: UInt32, flags: UInt16) {
    message(NeighbourMessage.new, flags: flags | NetlinkMessage.Flag.create, sequence: sequence) {
      $0.raw([address.family.addressFamily, 0, 0, 0])
      $0.host32(index)
      $0.raw([0, 0, NeighbourMessage.useFlag, 0])
      $0.attribute(NeighbourMessage.Attribute.address, address)
    }
  }

  package mutating func dumpNeighbours(sequence: UInt32) {
    message(NeighbourMessage.get, flags: NetlinkMessage.Flag.dump, sequence: sequence) { writer in
      writer.host32(0)
      writer.host32(0)
      writer.host32(0)
    }
  }
}
