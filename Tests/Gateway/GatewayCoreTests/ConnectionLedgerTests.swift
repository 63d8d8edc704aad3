import GatewayCore
import KernelModel
import NetworkTypes
import TestKit
import Testing

@Suite("The time since which devices are connected") struct ConnectionLedgerTests {
  @Test("a session goes on with new handshakes, and begins anew after a gap") func sessions() throws {
    let key = try #require(WireGuardKey(bytes: [UInt8](repeating: 7, count: 32)))
    var ledger = ConnectionLedger()
    func look(_ handshake: Int64, at now: Int64) -> Timestamp? {
      var state = WireGuardState(engine: .kernel)
      state.peers = [.init(publicKey: key, lastHandshake: handshake)]
      ledger.look(at: state, Timestamp(seconds: now))
      return ledger.since[key]
    }
    #expect(look(0, at: 1000) == nil)
    #expect(look(1000, at: 1005) == 1000 && look(1120, at: 1130) == 1000)
    // Without an answer of the engine nothing is forgotten.
    ledger.look(at: nil, 5000)
    #expect(ledger.since[key] == 1000)
    #expect(look(1120, at: 1299) == 1000 && look(1120, at: 1300) == nil)
    #expect(look(1400, at: 1401) == 1400)
    // A removed peer.
    ledger.look(at: WireGuardState(engine: .kernel), 1402)
    #expect(ledger.since.isEmpty)
  }
}
