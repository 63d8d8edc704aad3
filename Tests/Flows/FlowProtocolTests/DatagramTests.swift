import FlowProtocol
import NetworkTypes
import SeededRandom
import Testing

/// Datagrams of UDP ASSOCIATE.
@Suite struct DatagramTests {
  private static let client = IPAddress(v4: 0x7f00_0001)
  private static let server = IPAddress(v4: 0xc000_0207)

  private static func datagram(to text: String, _ data: [UInt8] = [1]) throws -> [UInt8] {
    RelayedDatagram(endpoint: try #require(Endpoint(text)), data: data).bytes
  }

  @Test("a header and its bytes are inverse, for names and both families") func coding() throws {
    for text in ["192.0.2.7:53", "[2001:db8::7]:53", "dns.corp.example:5353"] {
      let datagram = RelayedDatagram(endpoint: try #require(Endpoint(text)), data: [7, 8])
      #expect(RelayedDatagram(datagram.bytes) == datagram)
      for count in 0..<(datagram.bytes.count - 2) { #expect(RelayedDatagram(Array(datagram.bytes.prefix(count))) == nil) }
      var fragment = datagram.bytes
      fragment[2] = 1
      #expect(RelayedDatagram(fragment) == nil)
    }
    #expect(try RelayedDatagram(Self.datagram(to: "192.0.2.7:53"))?.bytes == [0, 0, 0, 1, 192, 0, 2, 7, 0, 53, 1])
  }

  @Test("random bytes never trap") func arbitrary() {
    var random = SplitMix64(seed: 1)
    for _ in 0..<50_000 {
      var bytes = (0..<Int(random.next() % 30)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      if bytes.count > 3, random.chance(0.8) { (bytes[0], bytes[1], bytes[2], bytes[3]) = (0, 0, 0, UInt8(random.next() % 5)) }
      if let datagram = RelayedDatagram(bytes) { #expect(RelayedDatagram(datagram.bytes) == datagram) }
    }
  }

  @Test("a client is one address, and the port of its first datagram or the one it named") func ownership() throws {
    let bytes = try Self.datagram(to: "192.0.2.7:53")
    var open = DatagramClient(at: Self.client, port: nil)
    #expect(open.port == nil && open.receive(bytes, from: Self.server, port: 1) == nil)
    #expect(open.receive([1, 2, 3], from: Self.client, port: 6) == nil && open.port == nil)
    #expect(open.receive(bytes, from: Self.client, port: 7)?.data == [1] && open.port == 7)
    #expect(open.receive(bytes, from: Self.client, port: 8) == nil)
    var named = DatagramClient(at: Self.client, port: 9)
    #expect(named.receive(bytes, from: Self.client, port: 8) == nil && named.receive(bytes, from: Self.client, port: 9) != nil)
  }

  @Test("answers come from places that the client has sent to, the last 1024; none from loopback") func answers() throws {
    var places = DatagramDestinations()
    let other = IPAddress(v4: 0xc000_0208)
    #expect(!places.answers(from: Self.server, port: 53))
    #expect(places.send(to: Self.server, port: 53) == true)
    #expect(places.answers(from: Self.server, port: 53) && !places.answers(from: Self.server, port: 54))
    #expect(!places.answers(from: other, port: 53))
    let forbidden = [
      "127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "::1", "::", "::ffff:127.0.0.1", "224.0.0.1", "ff02::1", "255.255.255.255",
    ]
    for text in forbidden {
      let address = try #require(IPAddress(text))
      #expect(places.send(to: address, port: 53) == false, "\(text)")
    }
    for port in 1...UInt16(DatagramDestinations.most) { #expect(places.send(to: other, port: port) == true) }
    #expect(!places.answers(from: Self.server, port: 53) && places.answers(from: other, port: 1))
    #expect(places.send(to: Self.server, port: 53) == true)
    #expect(!places.answers(from: other, port: 1))
    #expect(places.answers(from: Self.server, port: 53) && places.answers(from: other, port: 2))
  }
}
