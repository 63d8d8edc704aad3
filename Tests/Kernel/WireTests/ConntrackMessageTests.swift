import NetworkTypes
import SeededRandom
import Testing
import Wire

@Suite("Netlink: connection tracking") struct ConntrackMessageTests {
  private static func tuple(_ source: String, _ destination: String) -> ConntrackMessage.Tuple? {
    guard let source = IPAddress(source), let destination = IPAddress(destination) else { return nil }
    return .init(source: source, sourcePort: 40_001, destination: destination, destinationPort: 53, transport: 17)
  }

  /// The kernel's answer has the same attributes as the request, as another type, and the other direction.
  private static func answer(_ tuple: ConntrackMessage.Tuple) -> [UInt8] {
    var writer = NetlinkWriter()
    writer.getConnection(reply: tuple, sequence: 7)
    var bytes = writer.bytes
    // nlmsg_type, and CTA_TUPLE_ORIG in place of CTA_TUPLE_REPLY.
    bytes[4] = 0
    bytes[22] = 1
    return bytes
  }

  @Test(
    "a request names one direction; the answer's original direction is read",
    arguments: [
      ("198.51.100.23", "9.9.9.9"), ("2001:db8:2::23", "2001:db8:9::9"),
    ])
  func tuples(source: String, destination: String) throws {
    let tuple = try #require(Self.tuple(source, destination))
    var writer = NetlinkWriter()
    writer.getConnection(reply: tuple, sequence: 7)
    let request = try #require(Array(NetlinkMessages(writer.bytes)).first)
    // NLM_F_REQUEST and NLM_F_ACK; one connection, no dump.
    #expect(request.type == 0x101 && request.flags == 5 && request.sequence == 7)
    #expect(request.payload.first == (tuple.source.family == .v4 ? 2 : 10))
    #expect(ConntrackMessage.originalTuple(in: request) == nil)
    let answer = try #require(Array(NetlinkMessages(Self.answer(tuple))).first)
    #expect(ConntrackMessage.originalTuple(in: answer) == tuple)
  }

  @Test("changed bytes give a connection or none") func mutations() throws {
    var random = SplitMix64(seed: 20_953)
    let answer = Self.answer(try #require(Self.tuple("198.51.100.23", "9.9.9.9")))
    var found = 0
    for _ in 0..<20_000 {
      var bytes = answer
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 16..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
      }
      for message in NetlinkMessages(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))) {
        if ConntrackMessage.originalTuple(in: message) != nil { found += 1 }
      }
    }
    #expect(found > 0)
  }
}
