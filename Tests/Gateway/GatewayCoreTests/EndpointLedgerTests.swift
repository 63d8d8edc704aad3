import GatewayCore
import KernelModel
import NetworkTypes
import TestKit
import Testing

@Suite struct EndpointLedgerTests {
  private func endpoint(_ number: Int) throws -> Endpoint { try #require(Endpoint("192.0.2.\(number):51820")) }

  private func peer(_ number: UInt64, at place: Int?, _ handshake: Int64) throws -> WireGuardState.Peer {
    WireGuardState.Peer(publicKey: try key(number), endpoint: try place.map { try endpoint($0) }, lastHandshake: handshake)
  }

  @Test("a gateway notes a device when it comes, when it moves, and every ten minutes: never for each handshake") func notes() throws {
    var ledger = EndpointLedger(gateway: "one")
    func noted(_ peers: WireGuardState.Peer...) -> [Timestamp] {
      let notes = ledger.notes(of: peers)
      ledger.learn(notes)
      return notes.map(\.handshake)
    }
    #expect(noted(try peer(1, at: nil, 0), try peer(2, at: nil, 5)) == [])
    #expect(noted(try peer(1, at: 1, 1_000)) == [1_000])
    #expect(noted(try peer(1, at: 1, 1_000)) == [])
    #expect(noted(try peer(1, at: 1, 1_120)) == [])
    #expect(noted(try peer(1, at: 2, 1_240)) == [1_240])
    #expect(noted(try peer(1, at: 2, 1_839)) == [])
    #expect(noted(try peer(1, at: 2, 1_840)) == [1_840])
    // The other gateway had the device meanwhile, and now it is back.
    ledger.learn([LastEndpoint(publicKey: try key(1), endpoint: try endpoint(2), handshake: 1_900, gateway: "two")])
    #expect(noted(try peer(1, at: 2, 1_840)) == [])
    #expect(noted(try peer(1, at: 2, 1_950)) == [1_950])
    // A relay's address means nothing elsewhere.
    let relayed = try #require(Endpoint("127.83.0.1:4000"))
    #expect(RelayAddress.contains(try #require(relayed.address)))
    #expect(noted(WireGuardState.Peer(publicKey: try key(3), endpoint: relayed, lastHandshake: 2_000)) == [])
  }

  @Test("the other gateway gives its link endpoints of later handshakes alone, and begins sessions with devices that had one lately")
  func takeOver() throws {
    var ledger = EndpointLedger(gateway: "two")
    ledger.learn([
      LastEndpoint(publicKey: try key(1), endpoint: try endpoint(1), handshake: 1_000, gateway: "one"),
      LastEndpoint(publicKey: try key(2), endpoint: try endpoint(2), handshake: 1_000, gateway: "one"),
      LastEndpoint(publicKey: try key(3), endpoint: try endpoint(3), handshake: 1_000, gateway: "two"),
      LastEndpoint(publicKey: try key(4), endpoint: try endpoint(4), handshake: 100, gateway: "one"),
    ])
    // An endpoint that is older than the known one teaches nothing.
    ledger.learn([LastEndpoint(publicKey: try key(1), endpoint: try endpoint(9), handshake: 900, gateway: "one")])
    // 1 was never here, 2 has come here since, 3 was here alone, 4 left long ago, 5 is known to none.
    let peers = [
      try peer(1, at: nil, 0), try peer(2, at: 7, 1_001), try peer(3, at: nil, 0), try peer(4, at: 4, 50), try peer(5, at: nil, 0),
    ]
    #expect(ledger.missing(in: peers) == [try key(1): try endpoint(1)])
    let moved = ledger.moved(in: peers, at: 1_100)
    #expect(moved.all == [try key(1)])
    #expect(moved.outdated.isEmpty)
    // A session of before the other gateway's is worth nothing to the device.
    let again = ledger.moved(in: [try peer(1, at: 1, 700)], at: 1_100)
    #expect(again.all == [try key(1)])
    #expect(again.outdated == again.all)
  }
}
