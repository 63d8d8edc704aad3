package import NetworkTypes

/// The identity of a network device, as far as it can be told: its index and generation. A name is only a label: another device may get it,
/// and a device may get another one. Valid only while the agent runs.
package struct DeviceIdentity: Hashable, Sendable {
  package let index: InterfaceIndex
  /// The generation, different for every device of the same index.
  package let generation: UInt32

  package init(index: InterfaceIndex, generation: UInt32) {
    self.index = index
    self.generation = generation
  }
}

/// Distinguishes devices of one index. The kernel may give an index to another device (`ip link add index`, a move between namespaces). It
/// reports that only by announcing that the first one is gone.
package struct LinkGenerations: Equatable, Sendable {
  private struct Device: Hashable {
    var generation: UInt32
    /// The properties that a device never changes.
    var kind: String?
    var hardwareType: UInt16
  }

  private var devices: [InterfaceIndex: Device] = [:]
  private var count: UInt32 = 0

  package init() {}

  /// Records the kernel's report that the device of this index is gone, or has left the namespace. Another one may have the index already.
  package mutating func linkIsGone(_ index: InterfaceIndex) { devices[index] = nil }

  /// Sets the generation of every link. Devices that are not among `links` are gone.
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
