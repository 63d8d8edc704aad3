public import NetworkTypes

/// An IP packet, from its header on.
public struct Packet: Hashable, Sendable {
  public let bytes: [UInt8]

  /// By the first four bits of the packet.
  public var family: IPAddress.Family { bytes[0] >> 4 == 6 ? .v6 : .v4 }

  /// `nil` if it is no packet: shorter than its header, which has 20 bytes for IPv4 and 40 for IPv6, longer than 65,535 bytes, or of
  /// another version.
  public init?(_ bytes: [UInt8]) {
    guard let first = bytes.first, bytes.count <= 65_535 else { return nil }
    switch first >> 4 {
    case 4 where bytes.count >= 20: break
    case 6 where bytes.count >= 40: break
    default: return nil
    }
    self.bytes = bytes
  }
}

/// The packets of a tunnel's link: Network Extension's `NEPacketTunnelFlow`. The kernel, or a test, is at its other end.
public protocol PacketFlow: AnyObject {
  /// The link's name.
  var interface: String { get }
  /// The largest packet in bytes, when the device was opened.
  var mtu: Int { get }
  /// Packets and other data that were not written: the link took none, or they were no packets.
  var droppedPackets: Int { get }

  /// Calls the handler with packets that the machine sends into the tunnel, 1 to 64 at a time, until the run ends. A second call replaces
  /// the handler. Before the first call, and while the reading is paused, packets wait in the link, which drops them when it is full.
  func readPackets(_ handler: @escaping ([Packet]) -> Void)

  /// Stops the calls of the handler until `resumeReading`, such as while a server takes no more.
  func pauseReading()

  func resumeReading()

  /// Gives packets to the machine, as if they came from the link.
  func writePackets(_ packets: [Packet])

  /// The same for data that may be no packets, as it came from a server: what is none is counted and dropped.
  func writePackets(unchecked data: [[UInt8]])
}
