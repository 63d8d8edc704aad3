internal import CNetlink
internal import Glibc
import KernelModel
import NetworkTypes
import Wire

extension NetlinkSocket {
  /// Makes the kernel drop irrelevant announcements. A routing daemon that loads a hundred thousand routes into its own table then neither
  /// wakes the agent nor fills the receive buffer; nor does the start of a thousand containers. Without an interest only routes of foreign
  /// tables are dropped. Returns false if the kernel refuses; that only costs time, because `EventRelevance` filters too.
  func limit(only interest: EventInterest?) -> Bool {
    guard var instructions = eventFilter(interest).instructions else { return false }
    let count = UInt16(instructions.count)
    return instructions.withUnsafeMutableBufferPointer { instructions in
      var filter = sock_fprog(len: count, filter: instructions.baseAddress)
      return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &filter, socklen_t(MemoryLayout<sock_fprog>.size)) == 0
    }
  }
}

/// Offsets in a message, including the 16 bytes of `struct nlmsghdr`.
private enum Offset {
  static let type: UInt32 = 4
  static let family: UInt32 = 16
  /// `ifa_scope`.
  static let scope: UInt32 = 19
  /// `ifi_index`, `ifa_index` and `ndm_ifindex` are at the same offset.
  static let index: UInt32 = 20
  /// The lower byte of `ndm_state`.
  static let state: UInt32 = UInt16(1).littleEndian == 1 ? 24 : 25
  static let linkChange: UInt32 = 28
  static let routeAttributes: UInt32 = 28
  static let linkAttributes: UInt32 = 32
  static let neighbourAttributes: UInt32 = 28
  static let netconfAttributes: UInt32 = 20
}

/// The same criterion as `EventRelevance.canMatter`, for one message.
func eventFilter(_ interest: EventInterest?) -> FilterProgram {
  var program = FilterProgram()
  let (accept, drop) = (program.newLabel(), program.newLabel())
  let (route, link, address, neighbour, setting, index) = (
    program.newLabel(), program.newLabel(), program.newLabel(), program.newLabel(), program.newLabel(), program.newLabel()
  )
  program.loadHalf(Offset.type)
  for type in [RouteMessage.new, RouteMessage.delete] { program.go(to: route, ifEqual: host(type)) }
  if interest != nil {
    for type in [LinkMessage.new, LinkMessage.delete] { program.go(to: link, ifEqual: host(type)) }
    for type in [AddressMessage.new, AddressMessage.delete] { program.go(to: address, ifEqual: host(type)) }
    for type in [NeighbourMessage.new, NeighbourMessage.delete] { program.go(to: neighbour, ifEqual: host(type)) }
    program.go(to: setting, ifEqual: host(NetconfMessage.new))
    program.go(to: drop, ifEqual: host(NetconfMessage.delete))
  }
  program.go(to: accept)

  program.place(route)
  program.judgeRoute(interest: interest, index: index, accept: accept, drop: drop)
  if let interest {
    program.place(link)
    program.judgeLink(interest, accept: accept, drop: drop)
    program.place(address)
    // RT_SCOPE_LINK, RT_SCOPE_HOST, RT_SCOPE_NOWHERE.
    program.loadByte(Offset.scope)
    program.go(to: accept, unlessAtLeast: 253)
    program.loadWord(Offset.index)
    program.go(to: index)
    program.place(neighbour)
    program.judgeNeighbour(interest, accept: accept, drop: drop)
    program.place(setting)
    program.find(attribute: NetconfMessage.Attribute.reversePathFilter, from: Offset.netconfAttributes, orGo: drop)
    program.find(attribute: NetconfMessage.Attribute.link, from: Offset.netconfAttributes, orGo: drop)
    program.loadAttributeWord(4)
    program.go(to: accept, ifEqual: host(NetconfMessage.allLinks))
    program.place(index)
    for link in interest.links.sorted() { program.go(to: accept, ifEqual: host(link.value)) }
  } else {
    program.place(index)
  }
  program.place(drop)
  program.drop()
  program.place(accept)
  program.accept()
  return program
}

extension FilterProgram {
  /// Drops tables that are neither ours nor the main one; with an interest, also link-local destinations on links that do not matter.
  fileprivate mutating func judgeRoute(interest: EventInterest?, index: Label, accept: Label, drop: Label) {
    let (family, ours) = (newLabel(), newLabel())
    find(attribute: RouteMessage.Attribute.table, from: Offset.routeAttributes, orGo: accept)
    loadAttributeWord(4)
    go(to: family, ifEqual: host(Route.mainTable))
    // A number in host byte order can be compared by size only if that is the network's.
    if UInt32(1).bigEndian == 1 {
      go(to: drop, unlessAtLeast: Ownership.tables.lowerBound)
      go(to: drop, ifAtLeast: Ownership.tables.upperBound + 1)
      go(to: accept)
    } else {
      // 21000 to 23000 are 0x5208 to 0x59d8: the upper half is 0, and the lower half's bytes are swapped.
      mask(0x0000_ffff)
      go(to: drop, unlessEqual: 0)
      for high in Ownership.tables.lowerBound >> 8...Ownership.tables.upperBound >> 8 {
        let next = newLabel()
        loadAttributeHalf(4)
        mask(0xff)
        go(to: next, unlessEqual: high)
        loadAttributeHalf(4)
        mask(0xff00)
        if high == Ownership.tables.lowerBound >> 8 { go(to: drop, unlessAtLeast: (Ownership.tables.lowerBound & 0xff) << 8) }
        if high == Ownership.tables.upperBound >> 8 { go(to: drop, ifAtLeast: (Ownership.tables.upperBound & 0xff) << 8 + 1) }
        go(to: ours)
        place(next)
      }
      go(to: drop)
    }
    place(ours)
    go(to: accept)
    place(family)
    guard interest != nil else { return go(to: accept) }
    loadByte(Offset.family)
    go(to: accept, unlessEqual: UInt32(AF_INET6))
    find(attribute: RouteMessage.Attribute.destination, from: Offset.routeAttributes, orGo: accept)
    loadAttributeHalf(4)
    mask(0xffc0)
    go(to: accept, unlessEqual: 0xfe80)
    find(attribute: RouteMessage.Attribute.outgoingLink, from: Offset.routeAttributes, orGo: accept)
    loadAttributeWord(4)
    go(to: index)
  }

  /// Accepts links that matter, ports of those whose ports matter, and needed names; never events of wireless extensions and bridges.
  fileprivate mutating func judgeLink(_ interest: EventInterest, accept: Label, drop: Label) {
    let (judged, names) = (newLabel(), newLabel())
    loadByte(Offset.family)
    go(to: drop, unlessEqual: 0)
    loadWord(Offset.linkChange)
    go(to: judged, unlessEqual: 0)
    loadHalf(Offset.type)
    go(to: judged, unlessEqual: host(LinkMessage.new))
    find(attribute: LinkMessage.Attribute.wireless, from: Offset.linkAttributes, orGo: judged)
    go(to: drop)
    place(judged)
    loadWord(Offset.index)
    for link in interest.links.sorted() { go(to: accept, ifEqual: host(link.value)) }
    if !interest.masters.isEmpty {
      find(attribute: LinkMessage.Attribute.master, from: Offset.linkAttributes, orGo: names)
      loadAttributeWord(4)
      for master in interest.masters.sorted() { go(to: accept, ifEqual: host(master.value)) }
    }
    place(names)
    find(attribute: LinkMessage.Attribute.name, from: Offset.linkAttributes, orGo: drop)
    for name in interest.names.sorted() {
      let next = newLabel()
      // With its NUL; the kernel pads with zeros to a multiple of four.
      let bytes = Array(name.utf8) + [UInt8](repeating: 0, count: 4 - name.utf8.count % 4)
      for word in stride(from: 0, to: bytes.count, by: 4) {
        loadAttributeWord(UInt32(4 + word))
        go(to: next, unlessEqual: bytes[word..<word + 4].reduce(0) { $0 << 8 | UInt32($1) })
      }
      go(to: accept)
      place(next)
    }
    go(to: drop)
  }

  /// Accepts gateways whose hardware address was unknown, or has changed, or whose entry is removed.
  fileprivate mutating func judgeNeighbour(_ interest: EventInterest, accept: Label, drop: Label) {
    let links = interest.gateways.keys.sorted()
    let places = links.map { _ in newLabel() }
    loadWord(Offset.index)
    for (link, place) in zip(links, places) { go(to: place, ifEqual: host(link.value)) }
    go(to: drop)
    for (link, begin) in zip(links, places) {
      place(begin)
      find(attribute: NeighbourMessage.Attribute.address, from: Offset.neighbourAttributes, orGo: drop)
      for (gateway, hardware) in (interest.gateways[link] ?? [:]).sorted(by: { $0.key < $1.key }) {
        let next = newLabel()
        loadByte(Offset.family)
        go(to: next, unlessEqual: UInt32(gateway.family.addressFamily))
        for (place, word) in gateway.words.enumerated() {
          loadAttributeWord(UInt32(4 + 4 * place))
          go(to: next, unlessEqual: word)
        }
        judgeGateway(hardware, accept: accept, drop: drop)
        place(next)
      }
      go(to: drop)
    }
  }

  private mutating func judgeGateway(_ hardware: MACAddress?, accept: Label, drop: Label) {
    guard let hardware else { return go(to: accept) }
    loadHalf(Offset.type)
    go(to: accept, ifEqual: host(NeighbourMessage.delete))
    // Unanswered and unqueried entries have no address that counts.
    loadByte(Offset.state)
    go(to: drop, ifAnyOf: UInt32(NeighbourMessage.unansweredStates | NeighbourMessage.unaskedState))
    find(attribute: NeighbourMessage.Attribute.hardwareAddress, from: Offset.neighbourAttributes, orGo: drop)
    loadAttributeWord(4)
    go(to: accept, unlessEqual: UInt32(truncatingIfNeeded: hardware.value >> 16))
    loadAttributeHalf(8)
    go(to: accept, unlessEqual: UInt32(hardware.value & 0xffff))
    go(to: drop)
  }
}

extension IPAddress {
  /// The address as 32-bit words in network order.
  fileprivate var words: [UInt32] {
    let words = [high >> 32, high, low >> 32, low].map { UInt32(truncatingIfNeeded: $0) }
    return family == .v4 ? [words[3]] : words
  }
}
