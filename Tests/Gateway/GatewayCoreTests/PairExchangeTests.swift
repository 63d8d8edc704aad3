import GatewayCore
import KernelModel
import NetworkTypes
import TestKit
import Testing

@Suite("The exchange of a gateway with the others of its key") struct PairExchangeTests {
  @Test("it notes once a minute that it is there, and again soon where that failed") func notes() {
    var exchange = PairExchange(gateway: "one")
    let begin = Moment(nanoseconds: 1_000_000_000)
    #expect(exchange.isNoteDue(at: begin) && exchange.isNoteDue(at: begin + .seconds(5)))
    exchange.recorded(at: begin + .seconds(5))
    #expect(!exchange.isNoteDue(at: begin + .seconds(64)) && exchange.isNoteDue(at: begin + .seconds(65)))
  }

  @Test("a take-over begins one session with each device of another gateway, in batches; a second starts over", arguments: [0, 1, 32, 70])
  func takeOver(count: Int) throws {
    var work = Administration()
    try work.addPool("10.77.0.0/24")
    var exchange = PairExchange(gateway: "two")
    var (peers, moved): ([WireGuardState.Peer], [LastEndpoint]) = ([], [])
    let endpoint = try #require(Endpoint("192.0.2.1:51820"))
    for number in 0..<UInt64(count + 3) {
      try work.addUser(try name("user\(number)"))
      try work.addDevice(try path("user\(number)/phone"), publicKey: try key(number + 1))
      peers.append(WireGuardState.Peer(publicKey: try key(number + 1)))
      // The last three were never at the other gateway.
      guard number < count else { continue }
      moved.append(LastEndpoint(publicKey: try key(number + 1), endpoint: endpoint, handshake: work.now - 60, gateway: "one"))
    }
    exchange.learn(moved, version: 7)
    #expect(exchange.seen == 7 && exchange.missing(in: peers).count == count)
    for _ in 0..<2 {
      let found = exchange.takeOver(peers, work.directory, at: work.now)
      #expect(found.count == count && found.outdated.isEmpty)
      var addresses: [IPAddress] = []
      var batches = 0
      while case let batch = exchange.takeBatch(), !batch.isEmpty {
        #expect(batch.count <= PairExchange.batch)
        addresses += batch
        batches += 1
      }
      #expect(addresses.count == count && Set(addresses).count == count && batches == (count + 31) / 32)
      if count > 40 {
        // In the midst of one, another one.
        _ = exchange.takeOver(peers, work.directory, at: work.now)
        _ = exchange.takeBatch()
      }
    }
  }
}
