package import NetworkTypes

/// A device's question about a packet of its own: what becomes of it at the gateway. One datagram of UDP inside the tunnel, to the port of
/// settings. docs/wire-format.md describes each byte.
///
/// It has one of two lengths and its values at fixed offsets, so its reader follows no length that a stranger wrote.
package struct PacketQuestion: Hashable, Sendable {
  /// Returned by the answer.
  package var number: UInt64
  package var destination: IPAddress
  /// The protocol's number of IP; ICMP's, 1, in both families.
  package var transport: UInt8
  /// 0: none.
  package var port: UInt16

  private static let kind: UInt8 = 0x07

  package init(number: UInt64, to destination: IPAddress, transport: UInt8, port: UInt16) {
    self.number = number
    self.destination = destination
    self.transport = transport
    self.port = port
  }

  package var frame: LoginFrame {
    var frame = LoginFrame(Self.kind)
    frame.add(1, number.bigEndianBytes)
    frame.add(2, [destination.family == .v4 ? 4 : 6] + destination.bytes)
    frame.add(3, [transport])
    frame.add(4, LoginFrame.bigEndian(Int(port)))
    return frame
  }

  /// The bytes of a datagram, in each family.
  package static func length(_ family: IPAddress.Family) -> Int { (family == .v4 ? 31 : 43) + SealedDatagram.sealLength }

  package func datagram(_ seal: SealedDatagram.Seal) -> [UInt8]? { SealedDatagram.bytes(frame, seal) }

  /// Reads a datagram. Nothing of it is parsed before its seal is the right one.
  package init?(_ datagram: [UInt8], _ seal: SealedDatagram.Seal) {
    guard IPAddress.Family.allCases.contains(where: { datagram.count == Self.length($0) }),
      let body = SealedDatagram.body(of: datagram, seal)
    else { return nil }
    let end = body.count - 9
    guard let destination = IPAddress(bytes: body[18..<end]) else { return nil }
    self.init(
      number: UInt64(bigEndianBytes: body[6..<14]), to: destination, transport: body[end + 3],
      port: UInt16(body[end + 7]) << 8 | UInt16(body[end + 8]))
    // The kind, the tags and the lengths.
    guard frame.bytes == body else { return nil }
  }

  /// The label of the seal's key, which is derived from it and the shared secret.
  package static func label(gateway: [UInt8], device: [UInt8]) -> [UInt8] { Array("roamward explain 1".utf8) + gateway + device }
}

/// The gateway's answer: the first step of the packet's way that stops it, and what is known of the way before.
package struct PacketAnswer: Hashable, Sendable {
  /// The step of the way at which a packet is stopped.
  package enum Stop: UInt8, Hashable, Sendable {
    /// The routes that the gateway sends this device do not contain the destination.
    case routes = 1
    /// The device has no address of the destination's family.
    case address = 2
    /// The user may not connect.
    case user = 3
    /// A rule denies it, or none allows it.
    case access = 4
    /// The address is one of the gateway's pools, and no device has it.
    case device = 5
    /// The gateway's machine forwards no packets of this family.
    case forwarding = 6
    /// The gateway's machine has no route to it, or the link of the route has no carrier.
    case route = 7
    /// One of a later version.
    case other = 255
  }

  package var number: UInt64
  /// `nil`: the packet leaves the gateway.
  package var stop: Stop?
  /// The rule that decides; `nil`: none matches, or the packet is stopped before.
  package var rule: String?
  /// The packet's source address inside the tunnel.
  package var source: IPAddress?
  /// The link of the gateway's machine by which it leaves; `nil`: it is for the machine itself, or is stopped.
  package var link: String?
  /// The router after the gateway; `nil`: the destination is on the link.
  package var nextHop: IPAddress?
  /// Whether the packet leaves with the gateway's own address (masquerade).
  package var isTranslated: Bool

  package static let kind: UInt8 = 0x87

  package init(
    number: UInt64, stop: Stop? = nil, rule: String? = nil, source: IPAddress? = nil, link: String? = nil, nextHop: IPAddress? = nil,
    isTranslated: Bool = false
  ) {
    self.number = number
    self.stop = stop
    self.rule = rule
    self.source = source
    self.link = link
    self.nextHop = nextHop
    self.isTranslated = isTranslated
  }

  package var frame: LoginFrame {
    func bytes(_ address: IPAddress) -> [UInt8] { [address.family == .v4 ? 4 : 6] + address.bytes }
    var frame = LoginFrame(Self.kind)
    frame.add(1, number.bigEndianBytes)
    frame.add(2, [stop?.rawValue ?? 0])
    if let rule { frame.add(3, rule) }
    if let source { frame.add(4, bytes(source)) }
    if let link { frame.add(5, link) }
    if let nextHop { frame.add(6, bytes(nextHop)) }
    if isTranslated { frame.add(7, [1]) }
    return frame
  }

  package func datagram(_ seal: SealedDatagram.Seal) -> [UInt8]? { SealedDatagram.bytes(frame, seal) }

  /// Reads a datagram. Nothing of it is parsed before its seal is the right one.
  package init?(_ datagram: [UInt8], _ seal: SealedDatagram.Seal) {
    guard let frame = SealedDatagram.frame(Self.kind, of: datagram, seal) else { return nil }
    do throws(LoginFrameError) {
      func text(_ tag: UInt8) throws(LoginFrameError) -> String? { frame[tag] == nil ? nil : try frame.text(tag, 1...64) }
      func address(_ tag: UInt8) throws(LoginFrameError) -> IPAddress? {
        guard let value = frame[tag] else { return nil }
        guard let address = IPAddress(bytes: value.dropFirst()), value[0] == (address.family == .v4 ? 4 : 6) else { throw .field }
        return address
      }
      let stop = try frame.value(2, 1...1)[0]
      self.init(
        number: UInt64(bigEndianBytes: try frame.value(1, 8...8)), stop: stop == 0 ? nil : Stop(rawValue: stop) ?? .other,
        rule: try text(3), source: try address(4), link: try text(5), nextHop: try address(6), isTranslated: frame[7] == [1])
    } catch { return nil }
  }

  /// The label of the seal's key, which is derived from it and the shared secret.
  package static func label(gateway: [UInt8], device: [UInt8]) -> [UInt8] { Array("roamward explained 1".utf8) + gateway + device }
}
