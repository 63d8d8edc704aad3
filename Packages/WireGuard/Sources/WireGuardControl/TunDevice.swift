internal import CWireGuardIO
internal import Glibc
package import LinuxIO

/// A layer-3 TUN device, open: packets are read from it and written to it. It goes when its last descriptor does.
package struct TunDevice {
  package let descriptor: FileDescriptor
  package let name: String
  package let hasVirtioHeader: Bool
  package let offloads: Offloads

  /// Makes the device, down; needs CAP_NET_ADMIN. Tries the wanted offloads, and does without those that the kernel does not have.
  package static func make(_ name: String, wanting offloads: Offloads) throws(SystemError) -> TunDevice {
    let number = cwg_tun_open(name, offloads.contains(.tunSegmentation) ? 1 : 0)
    guard number >= 0 else { throw .last("make the link \(name) by /dev/net/tun") }
    // A place holds a superpacket of 64 KiB as well as a small packet: the default of 500 would be 30 MB, at 5 Gbit/s 50 ms of delay.
    cwg_set_queue_length(name, 128)
    return try TunDevice(FileDescriptor(owning: number), wanting: offloads)
  }

  /// A device that somebody else has opened and passed on.
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
