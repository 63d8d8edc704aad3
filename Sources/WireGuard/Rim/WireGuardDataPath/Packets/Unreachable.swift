/// The answer to a packet without a peer: "host unreachable" of ICMP (RFC 792; RFC 1122 section 3.2.2), "address unreachable" of ICMPv6
/// (RFC 4443 section 3.1). With it a program gets an error at once, as with the kernel's WireGuard, instead of a timeout.
///
/// Its source is the unreachable address. The kernel would drop a packet from one of the machine's own addresses that arrives at the link.
enum Unreachable {
  /// The maximum length of an answer: the minimum MTU of IPv6.
  static let largest = 1280
  private static let largest4 = 576

  /// Writes the answer to the whole packet at `packet` into `answer` (`largest` bytes) and returns its length; 0 if there must be no
  /// answer.
  static func write(about packet: UnsafeRawPointer, _ available: Int, to answer: UnsafeMutableRawPointer) -> Int {
    guard let length = InternetPacket.length(packet, of: available) else { return 0 }
    return InternetPacket.version(packet) == 4 ? write4(packet, length, answer) : write6(packet, length, answer)
  }

  private static func byte(_ packet: UnsafeRawPointer, _ offset: Int) -> UInt8 { packet.load(fromByteOffset: offset, as: UInt8.self) }

  private static func write4(_ packet: UnsafeRawPointer, _ length: Int, _ answer: UnsafeMutableRawPointer) -> Int {
    let header = Int(byte(packet, 0) & 15) * 4
    // Only the first fragment is answered. Broadcasts, multicasts and packets from non-unicast sources are not.
    guard header >= 20, length >= header + 8, InternetPacket.word(packet, 6) & 0x1fff == 0, isHost4(packet + 12), isHost4(packet + 16)
    else {
      return 0
    }
    // An ICMP error is not answered with an error.
    if byte(packet, 9) == 1, ![0, 8, 13, 14].contains(byte(packet, header)) { return 0 }
    let quoted = min(length, largest4 - 28)
    answer.initializeMemory(as: UInt8.self, repeating: 0, count: 28)
    answer.storeBytes(of: 0x45, as: UInt8.self)
    answer.storeBytes(of: 0xc0, toByteOffset: 1, as: UInt8.self)
    InternetPacket.setWord(answer, 2, UInt16(truncatingIfNeeded: 28 + quoted))
    answer.storeBytes(of: 64, toByteOffset: 8, as: UInt8.self)
    answer.storeBytes(of: 1, toByteOffset: 9, as: UInt8.self)
    (answer + 12).copyMemory(from: packet + 16, byteCount: 4)
    (answer + 16).copyMemory(from: packet + 12, byteCount: 4)
    InternetPacket.setHeaderChecksum(answer, headerLength: 20)
    answer.storeBytes(of: 3, toByteOffset: 20, as: UInt8.self)
    answer.storeBytes(of: 1, toByteOffset: 21, as: UInt8.self)
    (answer + 28).copyMemory(from: packet, byteCount: quoted)
    let sum = InternetChecksum.fold(InternetChecksum.sum(answer + 20, 8 + quoted))
    answer.storeBytes(of: ~sum, toByteOffset: 22, as: UInt16.self)
    return 28 + quoted
  }

  /// Not this network, loopback, multicast, reserved or broadcast.
  private static func isHost4(_ address: UnsafeRawPointer) -> Bool {
    let first = byte(address, 0)
    return first != 0 && first != 127 && first < 224
  }

  private static func write6(_ packet: UnsafeRawPointer, _ length: Int, _ answer: UnsafeMutableRawPointer) -> Int {
    guard byte(packet, 8) != 0xff, byte(packet, 24) != 0xff, !isZero(packet + 8), !isError6(packet, length) else { return 0 }
    let quoted = min(length, largest - 48)
    answer.initializeMemory(as: UInt8.self, repeating: 0, count: 48)
    answer.storeBytes(of: 0x60, as: UInt8.self)
    InternetPacket.setWord(answer, 4, UInt16(truncatingIfNeeded: 8 + quoted))
    answer.storeBytes(of: 58, toByteOffset: 6, as: UInt8.self)
    answer.storeBytes(of: 64, toByteOffset: 7, as: UInt8.self)
    (answer + 8).copyMemory(from: packet + 24, byteCount: 16)
    (answer + 24).copyMemory(from: packet + 8, byteCount: 16)
    answer.storeBytes(of: 1, toByteOffset: 40, as: UInt8.self)
    answer.storeBytes(of: 3, toByteOffset: 41, as: UInt8.self)
    (answer + 48).copyMemory(from: packet, byteCount: quoted)
    let start = InternetChecksum.pseudoHeader(addresses: answer + 8, 32, protocol: 58, length: 8 + quoted)
    let sum = InternetChecksum.fold(InternetChecksum.sum(answer + 40, 8 + quoted, onto: start))
    answer.storeBytes(of: ~sum, toByteOffset: 42, as: UInt16.self)
    return 48 + quoted
  }

  private static func isZero(_ address: UnsafeRawPointer) -> Bool {
    address.loadUnaligned(as: UInt64.self) == 0 && address.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == 0
  }

  /// An ICMPv6 error, a fragment that is not the first, or a packet that may be one of them.
  private static func isError6(_ packet: UnsafeRawPointer, _ length: Int) -> Bool {
    var kind = byte(packet, 6)
    var offset = 40
    while offset + 8 <= length {
      switch kind {
      case 58: return byte(packet, offset) < 128
      case 0, 43, 60:
        kind = byte(packet, offset)
        offset += 8 + 8 * Int(byte(packet, offset + 1))
      case 44:
        guard InternetPacket.word(packet, offset + 2) & 0xfff8 == 0 else { return true }
        kind = byte(packet, offset)
        offset += 8
      default: return false
      }
    }
    return true
  }
}

/// The rate limit for answers of one kind: 1,000 a second, 50 at once, as in the kernel (`icmp_msgs_per_sec`, `icmp_msgs_burst`).
struct AnswerLimit {
  private static let burst: UInt64 = 50
  private static let distance: UInt64 = 1_000_000

  /// The moment at which a whole burst is allowed again.
  private var full: UInt64 = 0

  /// True if one more answer is allowed at `now`, in nanoseconds.
  mutating func takes(at now: UInt64) -> Bool {
    let start = max(full, now)
    guard start - now <= (Self.burst - 1) * Self.distance else { return false }
    full = start + Self.distance
    return true
  }
}
