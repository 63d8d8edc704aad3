/// The word of the gateway that it takes the device's key no more: one datagram of UDP inside the tunnel, before the gateway forgets the
/// key. A lock is no such end, and is not told. docs/wire-format.md describes each byte.
package struct SessionEnd: Hashable, Sendable {
  package static let kind: UInt8 = 0x88

  /// Of the same order as the numbers of pushes (`SettingsPush.number`).
  package let number: UInt64

  package init(number: UInt64) { self.number = number }

  package var frame: LoginFrame {
    var frame = LoginFrame(Self.kind)
    frame.add(1, number.bigEndianBytes)
    return frame
  }

  package func datagram(_ seal: SealedDatagram.Seal) -> [UInt8]? { SealedDatagram.bytes(frame, seal) }

  /// Reads a datagram. Nothing of it is parsed before its seal is the right one.
  package init?(_ datagram: [UInt8], _ seal: SealedDatagram.Seal) {
    guard let frame = SealedDatagram.frame(Self.kind, of: datagram, seal), let number = try? frame.value(1, 8...8) else { return nil }
    self.number = UInt64(bigEndianBytes: number)
  }

  /// The label of the seal's key, which is derived from it and the shared secret.
  package static func label(gateway: [UInt8], device: [UInt8]) -> [UInt8] { Array("roamward ended 1".utf8) + gateway + device }
}
