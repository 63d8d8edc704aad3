import GatewayCore
import KernelModel
import NetworkTypes
import Testing

@Suite("Peers whose devices are told the end of their sessions") struct LeavingPeerTests {
  private func key(_ number: UInt8) throws -> WireGuardKey { try #require(WireGuardKey(bytes: [UInt8](repeating: number, count: 32))) }

  private func state(_ sent: [UInt8: UInt64]) throws -> WireGuardState {
    WireGuardState(
      engine: .kernel,
      peers: try sent.sorted { $0.key < $1.key }.map { number, bytes in
        WireGuardState.Peer(publicKey: try key(number), allowedIPs: [.host(IPAddress(v4: 0x0a4d_0000 + UInt32(number)))], sentBytes: bytes)
      })
  }

  @Test("a peer goes when its message has left, and not before; one without a session goes after two seconds") func leaves() throws {
    var leaving = LeavingPeers()
    let begin = Moment(nanoseconds: 1_000_000_000)
    leaving.begin([try key(1), try key(2), try key(9)], try state([1: 1000, 2: 500, 3: 700]), at: begin)
    let wanted = [WireGuardPeer(publicKey: try key(3))]
    #expect(try leaving.joined(to: wanted).map(\.publicKey) == [key(1), key(2), key(3)])
    // The message waits in a queue; a keepalive is none.
    #expect(try leaving.look(at: state([1: 1000, 2: 500, 3: 900]), begin + .milliseconds(50)).isEmpty)
    #expect(try leaving.look(at: state([1: 1032, 2: 500, 3: 900]), begin + .milliseconds(100)).isEmpty)
    // Datagrams from before it are on their way too.
    #expect(try leaving.look(at: state([1: 2500, 2: 500, 3: 900]), begin + .milliseconds(150)).isEmpty)
    #expect(try leaving.look(at: state([1: 2628, 2: 500, 3: 900]), begin + .milliseconds(200)).isEmpty)
    #expect(try leaving.look(at: state([1: 2628, 2: 500, 3: 900]), begin + .milliseconds(250)).map(\.publicKey) == [key(1)])
    #expect(try leaving.joined(to: wanted).map(\.publicKey) == [key(2), key(3)])
    #expect(leaving.look(at: nil, begin + .milliseconds(1990)).isEmpty)
    #expect(try leaving.look(at: state([2: 500]), begin + LeavingPeers.patience).map(\.publicKey) == [key(2)])
    #expect(leaving.isEmpty && leaving.joined(to: wanted) == wanted)
  }

  @Test("a device that logs in again meanwhile stays") func returns() throws {
    var leaving = LeavingPeers()
    let begin = Moment(nanoseconds: 1_000_000_000)
    leaving.begin([try key(1)], try state([1: 0]), at: begin)
    let wanted = [WireGuardPeer(publicKey: try key(1), allowedIPs: [.host(IPAddress(v4: 0x0a4d_0005))])]
    #expect(leaving.joined(to: wanted) == wanted && leaving.isEmpty)
    #expect(try leaving.look(at: state([1: 900]), begin + .seconds(9)).isEmpty)
  }
}
