/// A frame and its seal, in one datagram inside the tunnel: a code of authentication under a key that only the gateway and the device can
/// compute. Each kind has a key of its own (`label`).
package enum SealedDatagram {
  package static let sealLength = 32
  /// The most bytes of a datagram.
  package static let limit = 2 + LoginFrame.limit + sealLength

  /// Computes the seal of bytes; `nil`: there is no key.
  package typealias Seal = ([UInt8]) -> [UInt8]?

  /// The kind of what may be a datagram, before its seal is checked.
  package static func kind(of datagram: [UInt8]) -> UInt8? { datagram.count > 2 ? datagram[2] : nil }

  static func bytes(_ frame: LoginFrame, _ seal: Seal) -> [UInt8]? {
    let bytes = frame.bytes
    return seal(bytes).map { bytes + $0 }
  }

  /// The bytes of the frame, with its length; `nil`: the seal or the length is wrong.
  static func body(of datagram: [UInt8], _ seal: Seal) -> [UInt8]? {
    guard datagram.count <= limit, datagram.count > sealLength + 2 else { return nil }
    let body = Array(datagram.dropLast(sealLength))
    guard let right = seal(body), right.count == sealLength,
      zip(right, datagram.suffix(sealLength)).reduce(0, { $0 | ($1.0 ^ $1.1) }) == 0,
      Int(body[0]) << 8 | Int(body[1]) == body.count - 2
    else { return nil }
    return body
  }

  /// The frame of a datagram; `nil`: the seal or the length is wrong, it is none, or one of another kind.
  static func frame(_ kind: UInt8, of datagram: [UInt8], _ seal: Seal) -> LoginFrame? {
    guard let body = body(of: datagram, seal), let frame = try? LoginFrame(body: body.dropFirst(2)), frame.kind == kind else { return nil }
    return frame
  }
}

extension UInt64 {
  var bigEndianBytes: [UInt8] { (0..<8).reversed().map { UInt8(truncatingIfNeeded: self >> (8 * $0)) } }

  init(bigEndianBytes bytes: some Sequence<UInt8>) { self = bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
