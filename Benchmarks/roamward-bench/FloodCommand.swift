import ArgumentParser
import Glibc
import NetworkTypes
import WireGuardEngine

/// Sends initiations that prove knowledge of the receiver's public key and nothing else, from forged addresses.
///
/// Only into a network of the benchmark's own: the forged sources are those of RFC 2544, 198.18.0.0/15.
struct FloodCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "flood", abstract: "Send forged WireGuard initiations. For tests of one's own.")

  @Argument(help: "The receiver's IPv4 address.") var address: String
  @Argument(help: "Its UDP port.") var port: UInt16
  @Argument(help: "Its public key, 64 hexadecimal digits.") var key: String
  @Option(help: "How many a second.") var rate = 10_000
  @Option(help: "For how many seconds.") var seconds = 4

  func run() throws {
    guard let target = IPAddress(address), target.family == .v4, let bytes = octets(key), let publicKey = PublicKey(bytes: bytes) else {
      throw ValidationError("an IPv4 address, a port and a public key are needed")
    }
    let macs = MessageMACs(receiver: publicKey)
    let socket = socket(AF_INET, Int32(SOCK_RAW.rawValue), Int32(IPPROTO_RAW))
    guard socket >= 0 else { throw BenchmarkError("a raw socket needs CAP_NET_RAW") }
    var to = sockaddr_in()
    to.sin_family = sa_family_t(AF_INET)
    to.sin_addr.s_addr = UInt32(truncatingIfNeeded: target.low).bigEndian
    // Signing costs more than sending: what differs from one to the next is the source, which is not signed.
    var packets = (0..<256).map { _ in datagram(to: target, macs) }
    let start = Clock.wall
    var (sent, refused) = (0, 0)
    while Clock.wall - start < Double(seconds) * 1000 {
      let due = Int((Clock.wall - start) * Double(rate) / 1000)
      while sent < due {
        let number = sent % packets.count
        let source = UInt32.random(in: 0..<0x2_0000)
        for i in 0..<3 { packets[number][13 + i] = UInt8(truncatingIfNeeded: (0x12_0000 | source) >> UInt32(16 - 8 * i)) }
        let packet = packets[number]
        let result = withUnsafePointer(to: &to) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            sendto(socket, packet, packet.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
          }
        }
        if result < 0 { refused += 1 }
        sent += 1
      }
      usleep(1000)
    }
    print("\(sent - refused)")
  }

  private func octets(_ digits: String) -> [UInt8]? {
    let digits = Array(digits.utf8)
    guard digits.count == 64 else { return nil }
    let bytes = stride(from: 0, to: 64, by: 2).compactMap { UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16) }
    return bytes.count == 32 ? bytes : nil
  }

  /// IPv4 and UDP headers, and an initiation that nobody made: random but for its type and its first MAC.
  private func datagram(to target: IPAddress, _ macs: MessageMACs) -> [UInt8] {
    var message = (0..<148).map { _ in UInt8.random(in: 0...255) }
    message.replaceSubrange(0..<4, with: [1, 0, 0, 0])
    message.withUnsafeMutableBytes { macs.sign($0) }
    let source: [UInt8] = [198, 18, 0, 1]
    let length = 28 + message.count
    // The kernel fills in the length and the checksum; UDP over IPv4 needs none.
    let header: [UInt8] =
      [0x45, 0, UInt8(length >> 8), UInt8(length & 255), 0, 0, 0, 0, 64, 17, 0, 0] + source + target.bytes
    let ports: [UInt8] = [0xc0, 0x01, UInt8(port >> 8), UInt8(port & 255), UInt8((length - 20) >> 8), UInt8((length - 20) & 255), 0, 0]
    return header + ports + message
  }
}
