package import NetworkTypes

/// Which network device, as far as can be told: its index, and which of the devices that have had the index. A name is a label: it may be
/// given to another device, and a device may be given another one. Means nothing after the agent has ended.
package struct DeviceIdentity: Hashable, Sendable {
  package let index: InterfaceIndex
  /// Differs from that of every other device of the same index.
  package let generation: UInt32

  package init(index: InterfaceIndex, generation: UInt32) {
    self.index = index
    self.generation = generation
  }
}

/// Tells devices of one index apart. The kernel may give an index to another device (`ip link add index`, a move between namespaces), and
/// says so only by announcing that the first one has gone.
package struct LinkGenerations: Hashable, Sendable {
  private struct Device: Hashable {
    var generation: UInt32
    /// What a device keeps all its life.
    var kind: String?
    var hardwareType: UInt16
  }

  private var devices: [InterfaceIndex: Device] = [:]
  private var count: UInt32 = 0

  package init() {}

  /// The kernel has announced that the device of this index is gone, or has left the namespace. Another one may be there already.
  package mutating func linkIsGone(_ index: InterfaceIndex) { devices[index] = nil }

  /// Writes down of every link which device it is. Those that are not among `links` are gone.
  package mutating func identify(_ links: inout [Link]) {
    var present: [InterfaceIndex: Device] = [:]
    present.reserveCapacity(links.count)
    for i in links.indices {
      let link = links[i]
      let device: Device
      if let known = devices[link.index], known.kind == link.kind, known.hardwareType == link.hardwareType {
        device = known
      } else {
        count &+= 1
        device = Device(generation: count, kind: link.kind, hardwareType: link.hardwareType)
      }
      links[i].generation = device.generation
      present[link.index] = device
    }
    devices = present
  }
}
