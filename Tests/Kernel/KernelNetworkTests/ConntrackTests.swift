import Glibc
import KernelNetwork
import NetworkTypes
import TestSupport
import Testing

@Suite("Connection tracking", .needsNamespaces)
struct ConntrackTests {
  private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

  /// The number of connections that the kernel tracks in this namespace.
  private func count() throws -> Int {
    var count = 0
    try Conntrack().forgetConnections { _, _ in
      count += 1
      return false
    }
    return count
  }

  /// A link whose datagrams are tracked, with own addresses 10.77.0.1 to 10.77.0.25 and fd77::1 to fd77::25.
  private func makeLink() throws {
    try shell(
      """
      ip link add out0 type veth peer name far0 && ip link set far0 up && ip link set out0 up
      for i in $(seq 1 25); do ip address add 10.77.0.$i/24 dev out0; ip address add fd77::$i/64 dev out0 nodad; done
      ip route add default dev out0 && ip -6 route add default dev out0
      nft 'table inet track { chain c { type filter hook output priority 0; ct state new accept; }; }'
      # On a busy machine the rounds take longer than the 30 s that a connection without an answer is remembered.
      echo 600 >/proc/sys/net/netfilter/nf_conntrack_udp_timeout
      """)
  }

  @Test("connections of addresses are forgotten, in both families, whichever end they are, few or many; others stay") func forgotten()
    throws
  {
    try inNamespaces {
      try makeLink()
      let connections = try Conntrack()
      // The order of a set's elements is another one each time. With a port of the kernel's choice, two rounds may have the same.
      for round in 0..<20 {
        for (source, target) in [
          ("10.77.0.2", "203.0.113.2"), ("fd77::2", "2001:db8::2"), ("10.77.0.3", "203.0.113.3"), ("fd77::3", "2001:db8::3"),
        ] { try datagram(from: source, to: target, port: UInt8(round + 1)) }
        try #require(try count() == 4 + round)
        let ends = try ["10.77.0.2", "fd77::2", "203.0.113.3"].map(address)
        #expect(try connections.forgetConnections(of: Set(ends)) == 3)
        try #require(try count() == 1 + round)
      }
      for i in 1...25 {
        try datagram(from: "10.77.0.\(i)", to: "203.0.113.9")
        try datagram(from: "fd77::\(i)", to: "2001:db8::9")
      }
      #expect(try count() == 70)
      let many = try (2...24).flatMap { [try address("10.77.0.\($0)"), try address("fd77::\($0)")] }
      #expect(try connections.forgetConnections(of: Set(many)) == 66)
      #expect(try count() == 4)
      #expect(try connections.forgetConnections { _, destination in destination == IPAddress("2001:db8::9") } == 2)
      #expect(try count() == 2)
    }
  }

  /// `port`: of the source; 0: one of the kernel's choice.
  private func datagram(from source: String, to target: String, port: UInt8 = 0) throws {
    let isV4 = try address(source).family == .v4
    let number = socket(isV4 ? AF_INET : AF_INET6, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(number) }
    let own = bytes(source, isV4, port: port)
    let there = bytes(target, isV4, port: 40)
    #expect(own.withUnsafeBytes { bind(number, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), UInt32($0.count)) } == 0)
    #expect(
      there.withUnsafeBytes { sendto(number, "x", 1, 0, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), UInt32($0.count)) } == 1)
  }

  /// struct sockaddr_in or sockaddr_in6.
  private func bytes(_ text: String, _ isV4: Bool, port: UInt8) -> [UInt8] {
    let offset = isV4 ? 4 : 8
    var bytes = [UInt8](repeating: 0, count: isV4 ? 16 : 28)
    bytes[0] = UInt8(isV4 ? AF_INET : AF_INET6)
    bytes[3] = port
    bytes.withUnsafeMutableBytes { _ = inet_pton(isV4 ? AF_INET : AF_INET6, text, $0.baseAddress?.advanced(by: offset)) }
    return bytes
  }
}
