/// A packet of vici, without the length that precedes it in the stream.
package enum VICIPacket: Equatable, Sendable {
  /// To charon: a command.
  case request(String, VICIMessage)
  case response(VICIMessage)
  case unknownCommand
  /// To charon: send events of this name from now on.
  case register(String)
  case unregister(String)
  /// The answer to both.
  case confirmed
  case unknownEvent
  case event(String, VICIMessage)

  /// The length of a packet, in both directions.
  package static let limit = 512 * 1024

  /// The packet with its length, as it is sent.
  package func encoded() throws(VICIError) -> [UInt8] {
    var bytes: [UInt8] = [0, 0, 0, 0]
    switch self {
    case .request(let name, let message):
      bytes.append(0)
      try bytes.appendName(name)
      bytes += try message.encoded()
    case .response(let message): bytes += [1] + (try message.encoded())
    case .unknownCommand: bytes.append(2)
    case .register(let name):
      bytes.append(3)
      try bytes.appendName(name)
    case .unregister(let name):
      bytes.append(4)
      try bytes.appendName(name)
    case .confirmed: bytes.append(5)
    case .unknownEvent: bytes.append(6)
    case .event(let name, let message):
      bytes.append(7)
      try bytes.appendName(name)
      bytes += try message.encoded()
    }
    let length = bytes.count - 4
    guard length <= Self.limit else { throw .tooLong }
    for place in 0..<4 { bytes[place] = UInt8(length >> (24 - 8 * place) & 0xff) }
    return bytes
  }

  /// Reads a packet without its length. Any bytes give a packet or an error.
  package init(decoding bytes: ArraySlice<UInt8>) throws(VICIError) {
    var rest = bytes
    guard let type = rest.popFirst() else { throw .truncated }
    switch type {
    case 0: self = .request(try rest.takeName(), try VICIMessage(decoding: rest))
    case 1: self = .response(try VICIMessage(decoding: rest))
    case 3: self = .register(try rest.takeName())
    case 4: self = .unregister(try rest.takeName())
    case 7: self = .event(try rest.takeName(), try VICIMessage(decoding: rest))
    case 2: self = .unknownCommand
    case 5: self = .confirmed
    case 6: self = .unknownEvent
    default: throw .unexpected(type)
    }
  }
}

/// Puts packets together from the pieces of a stream.
package struct VICIReader: Sendable {
  private var unread: [UInt8] = []

  package init() {}

  package mutating func append(_ bytes: [UInt8]) { unread += bytes }

  /// The next packet; `nil`: it is not complete. After an error the stream cannot be read any more.
  package mutating func next() throws(VICIError) -> VICIPacket? {
    guard unread.count >= 4 else { return nil }
    let length = unread[..<4].reduce(0) { $0 << 8 | Int($1) }
    guard length <= VICIPacket.limit else { throw .tooLong }
    guard unread.count >= 4 + length else { return nil }
    let packet = try VICIPacket(decoding: unread[4..<4 + length])
    unread.removeFirst(4 + length)
    return packet
  }
}
