import KernelModel
import NetworkTypes
import PeerDetection
import RoamwardCore
import TestKit
import Testing

/// Samples as a table: second, bytes sent and received since the beginning.
@Suite struct DeadPeerDetectorTests {
  private func verdicts(_ samples: [(Int64, UInt64, UInt64)], keepalive: UInt16 = 0) -> [Bool] {
    var detector = DeadPeerDetector()
    return samples.map { second, sent, received in
      detector.take(
        DeadPeerDetector.Sample(
          at: Moment(nanoseconds: 0) + .seconds(second), lastHandshake: 100, received: received, sent: sent, persistentKeepalive: keepalive)
      )
      return detector.isSilent
    }
  }

  @Test("data without an answer: silent 24 s after the sample before it") func data() {
    #expect(verdicts([(0, 0, 0), (6, 128, 0), (12, 256, 0), (18, 552, 0), (24, 828, 0)]) == [false, false, false, false, true])
    #expect(verdicts([(0, 0, 0), (6, 128, 0), (12, 256, 32), (18, 256, 32), (24, 256, 32), (60, 256, 32)]).contains(true) == false)
  }

  @Test("keepalives ask for no answer") func keepalives() {
    #expect(!verdicts([(0, 0, 0), (6, 32, 0), (12, 32, 0), (18, 64, 0), (30, 96, 0), (42, 128, 0), (54, 160, 0)]).contains(true))
    #expect(!verdicts((0..<30).map { ($0 * 6, UInt64($0) * 64, 0) }, keepalive: 5).contains(true))
  }

  @Test("a session that cannot be renewed is as good as unanswered data") func handshakes() {
    #expect(verdicts([(0, 0, 0), (20, 148, 0), (23, 296, 0), (24, 296, 0)]) == [false, false, false, true])
  }

  @Test("the peer's own initiations are no answer: it hears nothing") func deafPeer() {
    #expect(verdicts([(0, 0, 0), (6, 128, 0), (12, 348, 148), (18, 588, 296), (24, 856, 444)]).last == true)
  }

  /// As seen where a network drops UDP in one direction: a ping each second, 272 bytes of the gateway's own accord at 11.6 s, and its
  /// handshakes from 14.2 s on.
  @Test("a peer that begins handshakes again and again is silent, whatever data it sent before") func deafPeerWithData() {
    let samples: [(Int64, UInt64, UInt64)] = [
      (0, 0, 0), (6, 384, 0), (12, 832, 272), (18, 1308, 420), (21, 1528, 568), (24, 1784, 568), (27, 1984, 716),
    ]
    #expect(verdicts(samples) == [false, false, false, false, false, true, true])
    // One that is confirmed, whenever that is seen, is the renewal of a session.
    #expect(!verdicts([(0, 0, 0), (6, 128, 96), (12, 220, 244), (15, 220, 276), (60, 220, 276)]).contains(true))
    #expect(!verdicts([(0, 0, 0), (6, 92, 148), (12, 184, 296), (13, 184, 328), (24, 184, 328)]).contains(true))
  }

  @Test("what was seen before the machine stood still proves nothing") func gap() {
    #expect(!verdicts([(0, 0, 0), (6, 128, 0), (3600, 256, 0), (3606, 256, 0)]).contains(true))
  }

  @Test("one silent peer of two is no reason to doubt the tunnel while the other is heard") func twoPeers() {
    func device(_ a: (UInt64, UInt64), _ b: (UInt64, UInt64)) -> WireGuardState {
      let peers = [(Sample.key(3), a), (Sample.key(4), b)].map { key, bytes in
        WireGuardState.Peer(publicKey: key, lastHandshake: 100, receivedBytes: bytes.1, sentBytes: bytes.0)
      }
      return WireGuardState(engine: .kernel, peers: peers)
    }
    let start = Moment(nanoseconds: 0)
    for isOtherHeard in [true, false] {
      var liveness = TunnelLiveness()
      var doubts: [Duration] = []
      for i in UInt64(0)..<12 {
        let other = isOtherHeard ? (i * 128, i * 128) : (0, 0)
        if let silence = liveness.take(device((i * 128, 0), other), at: start + .seconds(Int64(i) * 6)) { doubts.append(silence) }
      }
      #expect(doubts == (isOtherHeard ? [] : [.seconds(24)]))
    }
  }
}
