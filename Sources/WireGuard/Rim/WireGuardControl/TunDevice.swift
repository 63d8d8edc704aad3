internal import CWireGuardIO
internal import Glibc
package import LinuxIO

/// An open layer-3 TUN device: packets are read from it and written to it. The kernel deletes it with its last descriptor.
package struct TunDevice {
  /// The first queue.
  package let descriptor: FileDescriptor
  /// All queues: one for each pair of threads. The kernel distributes flows to them.
  package let queues: [FileDescriptor]
  package let name: String
  package let hasVirtioHeader: Bool
  package let offloads: Offloads

  /// Creates the device, down; needs CAP_NET_ADMIN. Tries the wanted offloads and leaves out those that the kernel does not have. A device
  /// that exists already, without a program, keeps its one queue.
  package static func make(_ name: String, wanting offloads: Offloads, queues: Int = 1) throws(SystemError) -> TunDevice {
    let virtio: Int32 = offloads.contains(.tunSegmentation) ? 1 : 0
    let number = cwg_tun_open(name, virtio, Int32(queues))
    guard number >= 0 else { throw .last("make the link \(name) by /dev/net/tun") }
    // A queue entry holds a small packet or a superpacket. The more streams there are, the smaller are their superpackets: 32 streams fill
    // 128 entries with 2 MB.
    cwg_set_queue_length(name, 512)
    // The device has queues of its own, and never asks for others, as the kernel's WireGuard does not. Otherwise the kernel makes one for
    // each of the 256 queues that a device may have, when it comes up: half a millisecond and 3 MB. A kernel that refuses does that.
    cwg_queue_nothing(name)
    var all = [FileDescriptor(owning: number)]
    var (hasHeader, isMultiQueue): (Int32, Int32) = (0, 0)
    var bytes = [CChar](repeating: 0, count: 16)
    guard cwg_tun_describe(number, &hasHeader, &isMultiQueue, &bytes) == 0 else { throw .last("ask the TUN device for its queues") }
    while isMultiQueue != 0, all.count < queues {
      let queue = cwg_tun_add_queue(name, virtio)
      guard queue >= 0 else { throw .last("add a queue to the link \(name)") }
      all.append(FileDescriptor(owning: queue))
    }
    return try TunDevice(all, wanting: offloads)
  }

  /// A device that another process opened and passed on: its queues, at least one.
  package init(_ queues: [FileDescriptor], wanting wanted: Offloads) throws(SystemError) {
    guard let descriptor = queues.first else { throw SystemError(code: EBADF, operation: "use a TUN device without a queue") }
    var (virtio, isMultiQueue): (Int32, Int32) = (0, 0)
    var bytes = [CChar](repeating: 0, count: 16)
    guard cwg_tun_describe(descriptor.number, &virtio, &isMultiQueue, &bytes) == 0 else { throw .last("ask the TUN device for its name") }
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
    let name = String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    self.init(name, descriptor, queues, hasVirtioHeader: virtio != 0, offloads: found)
  }

  /// A device whose queues are descriptors of any kind that preserves the boundaries of packets.
  package init(_ name: String, _ first: FileDescriptor, _ queues: [FileDescriptor], hasVirtioHeader: Bool, offloads: Offloads) {
    self.name = name
    descriptor = first
    self.queues = queues
    self.hasVirtioHeader = hasVirtioHeader
    self.offloads = offloads
  }
}
