/// A device's settings, as the gateway sends them through the tunnel when they have changed: one datagram of UDP. docs/wire-format.md
/// describes each byte.
///
/// A frame as that of the login's end, with a number, and behind it a seal: a code of authentication under a key that only the gateway and
/// this device can compute.
package struct SettingsPush: Hashable, Sendable {
  /// The UDP port, at the device's first address and at the gateway's.
  package static let port: UInt16 = 20_900
  package static let sealLength = 32
  /// The most bytes of a datagram.
  package static let limit = 2 + LoginFrame.limit + sealLength
  private static let kind: UInt8 = 0x86

  /// Computes the seal of bytes; `nil`: there is no key.
  package typealias Seal = ([UInt8]) -> [UInt8]?

  /// Above that of each push before: the gateway's time in microseconds since 1970.
  package let number: UInt64
  package let grant: LoginGrant

  package init(number: UInt64, _ grant: LoginGrant) {
    self.number = number
    self.grant = grant
  }

  package var frame: LoginFrame { grant.frame(Self.kind, number: number) }

  package func datagram(_ seal: Seal) -> [UInt8]? {
    let bytes = frame.bytes
    return seal(bytes).map { bytes + $0 }
  }

  /// Reads a datagram. Nothing of it is parsed before its seal is the right one.
  package init?(_ datagram: [UInt8], _ seal: Seal) {
    guard datagram.count <= Self.limit, datagram.count > Self.sealLength + 2 else { return nil }
    let body = Array(datagram.dropLast(Self.sealLength))
    guard let right = seal(body), right.count == Self.sealLength,
      zip(right, datagram.suffix(Self.sealLength)).reduce(0, { $0 | ($1.0 ^ $1.1) }) == 0
    else { return nil }
    do throws(LoginFrameError) {
      guard Int(body[0]) << 8 | Int(body[1]) == body.count - 2 else { return nil }
      let frame = try LoginFrame(body: body.dropFirst(2))
      guard frame.kind == Self.kind else { return nil }
      number = try frame.value(13, 8...8).reduce(0) { $0 << 8 | UInt64($1) }
      grant = try LoginGrant(frame)
    } catch { return nil }
  }

  /// What the key of the seal is made of besides the shared secret: so it is no key of another use or direction.
  package static func label(gateway: [UInt8], device: [UInt8]) -> [UInt8] { Array("roamward settings 1".utf8) + gateway + device }
}
