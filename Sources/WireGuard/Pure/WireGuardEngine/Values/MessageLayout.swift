/// The layout of the messages (section 5.4 of the paper). All numbers are little-endian.
enum MessageType {
  /// The first word of a message: its type, and three zero bytes.
  static let initiation: UInt32 = 1
  static let response: UInt32 = 2
  static let cookieReply: UInt32 = 3
  static let transport: UInt32 = 4
}

enum InitiationLayout {
  static let sender = 4
  static let ephemeral = 8
  static let staticKey = 40
  static let timestamp = 88
  static let mac1 = 116
  static let mac2 = 132
  static let length = 148
}

enum ResponseLayout {
  static let sender = 4
  static let receiver = 8
  static let ephemeral = 12
  static let empty = 44
  static let mac1 = 60
  static let mac2 = 76
  static let length = 92
}

enum CookieReplyLayout {
  static let receiver = 4
  static let nonce = 8
  static let cookie = 32
  static let length = 64
}

enum TransportLayout {
  static let receiver = 4
  static let counter = 8
  static let payload = 16
}

extension UnsafeRawBufferPointer {
  func word(at offset: Int) -> UInt32 { UInt32(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }

  func part(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[offset..<offset + count]) }

  func address(_ offset: Int) -> UnsafeRawPointer { baseAddress.unsafelyUnwrapped + offset }
}

extension UnsafeMutableRawBufferPointer {
  func setWord(_ word: UInt32, at offset: Int) { storeBytes(of: word.littleEndian, toByteOffset: offset, as: UInt32.self) }

  func address(_ offset: Int) -> UnsafeMutableRawPointer { baseAddress.unsafelyUnwrapped + offset }

  var readable: UnsafeRawBufferPointer { UnsafeRawBufferPointer(self) }
}
