/// A device's settings, as the gateway sends them through the tunnel when they have changed: one datagram of UDP. docs/wire-format.md
/// describes each byte.
///
/// A frame as that of the login's end, with a number, and behind it a seal: a code of authentication under a key that only the gateway and
/// this device can compute.
package struct SettingsPush: Hashable, Sendable {
  /// The UDP port, at the device's first address and at the gateway's.
  package static let port: UInt16 = 20_900
  /// The most bytes of a datagram.
  package static let limit = SealedDatagram.limit
  package static let kind: UInt8 = 0x86

  package typealias Seal = SealedDatagram.Seal

  /// Above that of each push before: the gateway's time in microseconds since 1970.
  package let number: UInt64
  package let grant: LoginGrant

  package init(number: UInt64, _ grant: LoginGrant) {
    self.number = number
    self.grant = grant
  }

  package var frame: LoginFrame { grant.frame(Self.kind, number: number) }

  package func datagram(_ seal: Seal) -> [UInt8]? { SealedDatagram.bytes(frame, seal) }

  /// Reads a datagram. Nothing of it is parsed before its seal is the right one.
  package init?(_ datagram: [UInt8], _ seal: Seal) {
    guard let frame = SealedDatagram.frame(Self.kind, of: datagram, seal) else { return nil }
    do throws(LoginFrameError) {
      number = UInt64(bigEndianBytes: try frame.value(13, 8...8))
      grant = try LoginGrant(frame)
    } catch { return nil }
  }

  /// The label of the seal's key, which is derived from it and the shared secret. No other use or direction has the same key.
  package static func label(gateway: [UInt8], device: [UInt8]) -> [UInt8] { Array("roamward settings 1".utf8) + gateway + device }
}
