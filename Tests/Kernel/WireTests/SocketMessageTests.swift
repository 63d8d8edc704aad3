import NetworkTypes
import Testing
import Wire

/// Answers of Linux 6.18 for port 5353, with three sockets there: UDP at 127.82.0.53, UDP at :: without IPv4, TCP at 0.0.0.0.
enum CapturedSockets {
  static let port5353 = bytes(
    """
    7c0000001400020001000000223400000207000014e900007f5200350000000000000000000000000000000000000000000000000000000000000000e9d70000
    000000000000000000000000000000000000000039387f01050008000000000008000f00000000000c0015000100000000000000060016005000000084000000
    1400020001000000223400000a07000014e90000000000000000000000000000000000000000000000000000000000000000000000000000ead7000000000000
    000000000000000000000000000000003a387f01050008000000000005000b000100000008000f00000000000c00150001000000000000000600160010000000
    7c000000140002000100000022340000020a000014e90000000000000000000000000000000000000000000000000000000000000000000000000000ebd70000
    00000000000000000000000080000000000000003b387f01050008000000000008000f00000000000c00150001000000000000000600160052000000
    """)
}

@Suite("Sockets of a port")
struct SocketMessageTests {
  @Test("their addresses, inodes and control groups") func decode() {
    let sockets = NetlinkMessages(CapturedSockets.port5353).compactMap { ListeningSocket($0) }
    #expect(sockets.map(\.address.description) == ["127.82.0.53", "::", "0.0.0.0"])
    #expect(sockets.map(\.port) == [5353, 5353, 5353])
    #expect(sockets.map(\.controlGroup) == [1, 1, 1] && sockets.map(\.isIPv6Only) == [false, true, false])
    #expect(sockets.allSatisfy { $0.inode > 0 } && Set(sockets.map(\.inode)).count == 3)
  }

  @Test("which addresses a socket takes") func takes() throws {
    let own = try #require(IPAddress("127.82.0.53"))
    func takes(_ address: String, isIPv6Only: Bool = false) throws -> Bool {
      ListeningSocket(address: try #require(IPAddress(address)), port: 53, inode: 1, isIPv6Only: isIPv6Only).takes(own)
    }
    #expect(try takes("127.82.0.53") && takes("0.0.0.0") && takes("::"))
    #expect(try !takes("127.0.0.53") && !takes("::", isIPv6Only: true) && !takes("::1"))
  }

  @Test("the request names the family, the protocol and the port") func request() {
    var writer = NetlinkWriter()
    writer.dumpListeningSockets(.v4, isStream: false, port: 53, sequence: 7)
    #expect(
      writer.bytes
        == bytes("48000000140001030700000000000000021100008200000000350000") + [UInt8](repeating: 0, count: 36)
        + [UInt8](repeating: 0xff, count: 8))
    // TCP_LISTEN alone: any other state is one of all connections.
    var streams = NetlinkWriter()
    streams.dumpListeningSockets(.v4, isStream: true, port: 0, sequence: 7)
    #expect(streams.bytes[20..<24] == [0, 4, 0, 0])
  }
}
