/// What the kernel can take off the data path's hands. Each is found out at run time, and each can be done without.
package struct Offloads: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The TUN device hands over and takes TCP superpackets, and packets without checksums.
  package static let tunSegmentation = Offloads(rawValue: 1)
  /// The same for UDP: Linux 6.2.
  package static let tunDatagramSegmentation = Offloads(rawValue: 2)
  /// The kernel cuts what is sent into datagrams (UDP_SEGMENT): Linux 4.18.
  package static let socketSegmentation = Offloads(rawValue: 4)
  /// The kernel joins datagrams that are received (UDP_GRO): Linux 5.0.
  package static let socketJoining = Offloads(rawValue: 8)

  package static let all: Offloads = [.tunSegmentation, .tunDatagramSegmentation, .socketSegmentation, .socketJoining]
}
