internal import CNetlink
internal import Glibc
package import LinuxIO
package import NetworkTypes

/// A packet socket (packet(7)) that becomes readable at the first packet on a link, in either direction.
///
/// Its filter keeps one byte of a packet. It can drop multicasts: an IPv6 link sends some by itself (RFC 4861, RFC 3810), which a peer gets
/// whose prefixes include them.
package struct PacketSocket {
  package let descriptor: FileDescriptor

  package init(on link: InterfaceIndex, withMulticasts: Bool) throws(SystemError) {
    // Protocol 0: nothing is received before the filter is attached.
    let number = socket(AF_PACKET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    guard number >= 0 else { throw .last("open a packet socket") }
    descriptor = FileDescriptor(owning: number)
    guard attach(packetFilter(withMulticasts: withMulticasts)) else { throw .last("attach a filter to a packet socket") }
    var address = sockaddr_ll()
    address.sll_family = UInt16(AF_PACKET)
    address.sll_protocol = UInt16(ETH_P_ALL).bigEndian
    address.sll_ifindex = Int32(link.value)
    let length = socklen_t(MemoryLayout<sockaddr_ll>.size)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) }
    }
    guard result == 0 else { throw .last("bind a packet socket") }
  }

  private func attach(_ filter: FilterProgram) -> Bool {
    guard var instructions = filter.instructions else { return false }
    let count = UInt16(instructions.count)
    return instructions.withUnsafeMutableBufferPointer { instructions in
      var filter = sock_fprog(len: count, filter: instructions.baseAddress)
      return setsockopt(descriptor.number, SOL_SOCKET, SO_ATTACH_FILTER, &filter, socklen_t(MemoryLayout<sock_fprog>.size)) == 0
    }
  }
}

/// Accepts one byte of each IP packet, or of each to a unicast address.
func packetFilter(withMulticasts: Bool) -> FilterProgram {
  var program = FilterProgram()
  if withMulticasts {
    program.accept(bytes: 1)
    return program
  }
  let (v4, v6, accept, drop) = (program.newLabel(), program.newLabel(), program.newLabel(), program.newLabel())
  program.loadByte(0)
  program.mask(0xf0)
  program.go(to: v4, ifEqual: 0x40)
  program.go(to: v6, ifEqual: 0x60)
  program.go(to: drop)
  program.place(v4)
  program.loadByte(16)
  program.go(to: drop, ifAtLeast: 224)
  program.go(to: accept)
  program.place(v6)
  program.loadByte(24)
  program.go(to: drop, ifEqual: 0xff)
  program.place(accept)
  program.accept(bytes: 1)
  program.place(drop)
  program.drop()
  return program
}
