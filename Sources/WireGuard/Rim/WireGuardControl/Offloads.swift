/// Work that the kernel can do for the data path. Each offload is detected at run time, and each is optional.
package struct Offloads: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The TUN device delivers and accepts TCP superpackets, and packets without checksums.
  package static let tunSegmentation = Offloads(rawValue: 1)
  /// The same for UDP; since Linux 6.2.
  package static let tunDatagramSegmentation = Offloads(rawValue: 2)
  /// The kernel splits sent data into datagrams (UDP_SEGMENT); since Linux 4.18.
  package static let socketSegmentation = Offloads(rawValue: 4)
  /// The kernel joins received datagrams (UDP_GRO); since Linux 5.0.
  package static let socketJoining = Offloads(rawValue: 8)

  package static let all: Offloads = [.tunSegmentation, .tunDatagramSegmentation, .socketSegmentation, .socketJoining]
}
