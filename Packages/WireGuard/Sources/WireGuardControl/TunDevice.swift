internal import CWireGuardIO
internal import Glibc
package import LinuxIO

/// An open layer-3 TUN device: packets are read from it and written to it. The kernel deletes it with its last descriptor.
package struct TunDevice {
  package let descriptor: FileDescriptor
  package let name: String
  package let hasVirtioHeader: Bool
  package let offloads: Offloads

  /// Creates the device, down; needs CAP_NET_ADMIN. Tries the wanted offloads and leaves out those that the kernel does not have.
  package static func make(_ name: String, wanting offloads: Offloads) throws(SystemError) -> TunDevice {
    let number = cwg_tun_open(name, offloads.contains(.tunSegmentation) ? 1 : 0)
    guard number >= 0 else { throw .last("make the link \(name) by /dev/net/tun") }
    // A queue entry holds a small packet or a superpacket. The more streams there are, the smaller are their superpackets: 32 streams fill
    // 128 entries with 2 MB.
    cwg_set_queue_length(name, 512)
    return try TunDevice(FileDescriptor(owning: number), wanting: offloads)
  }

  /// A device that another process opened and passed on.
  package init(_ descriptor: FileDescriptor, wanting wanted: Offloads) throws(SystemError) {
    var virtio: Int32 = 0
    var bytes = [CChar](repeating: 0, count: 16)
    guard cwg_tun_describe(descriptor.number, &virtio, &bytes) == 0 else { throw .last("ask the TUN device for its name") }
    self.descriptor = descriptor
    name = String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    hasVirtioHeader = virtio != 0
    var found = wanted.subtracting([.tunSegmentation, .tunDatagramSegmentation])
    if virtio != 0, wanted.contains(.tunSegmentation) {
      let tcp = CWG_TUN_CHECKSUM | CWG_TUN_TSO4 | CWG_TUN_TSO6 | CWG_TUN_TSO_ECN
      let udp = CWG_TUN_USO4 | CWG_TUN_USO6
      if wanted.contains(.tunDatagramSegmentation), cwg_tun_set_offload(descriptor.number, UInt32(tcp | udp)) == 0 {
        found.formUnion([.tunSegmentation, .tunDatagramSegmentation])
      } else if cwg_tun_set_offload(descriptor.number, UInt32(tcp)) == 0 {
        found.insert(.tunSegmentation)
      }
    }
    offloads = found
  }
}
