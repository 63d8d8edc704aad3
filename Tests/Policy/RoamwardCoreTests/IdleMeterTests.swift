import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import TestKit
import Testing

@Suite struct IdleMeterTests {
  let start = Moment(nanoseconds: 0)

  func device(sent: UInt64, received: UInt64, keepalive: UInt16 = 0) -> WireGuardState {
    WireGuardState(
      engine: .kernel,
      peers: [
        WireGuardState.Peer(
          publicKey: Sample.key(3), persistentKeepalive: keepalive, lastHandshake: 1, receivedBytes: received, sentBytes: sent)
      ])
  }

  /// The bytes of WireGuard's own messages in one interval, at random but within its timers.
  private func own(in seconds: Int64, keepalive: UInt16, _ random: inout SplitMix64) -> (sent: UInt64, received: UInt64) {
    let keepalives = UInt64(random.next() % UInt64(1 + seconds / 10))
    let persistent = keepalive == 0 ? 0 : UInt64(seconds) / UInt64(keepalive)
    switch random.next() % 4 {
    case 0: return (148 + 32 + 32 * (keepalives + persistent), 92 + 32 * keepalives)
    case 1: return (92 + 32 * persistent, 148 + 32 + 32 * keepalives)
    case 2: return (148 * UInt64(1 + seconds / 6), 0)
    default: return (32 * (keepalives + persistent), 32 * keepalives)
    }
  }

  @Test("handshakes and keepalives are no data, whatever their mix", arguments: [UInt16(0), 10, 25]) func overhead(_ keepalive: UInt16) {
    var random = SplitMix64(seed: UInt64(keepalive))
    var (now, sent, received) = (start, UInt64(1000), UInt64(1000))
    var meter = IdleMeter(device(sent: sent, received: received, keepalive: keepalive), at: now)
    for _ in 0..<5000 {
      let seconds = random.next() % 2 == 0 ? Int64(6) : 20
      now = now + .seconds(seconds)
      let more = own(in: seconds, keepalive: keepalive, &random)
      (sent, received) = (sent + more.sent, received + more.received)
      meter.take(device(sent: sent, received: received, keepalive: keepalive), at: now)
      #expect(meter.activeAt == start, "\(more) in \(seconds) s")
    }
  }

  @Test("a DNS question, its answer, and a TCP segment are data, also beside a handshake and a persistent keepalive")
  func data() {
    // Of packets of 40, 60, 72, 100, 500 and 1380 bytes: header, packet padded to 16 bytes, tag.
    let messages: [UInt64] = [80, 96, 112, 144, 544, 1424]
    for seconds: Int64 in [6, 20] {
      for message in messages {
        for beside: UInt64 in [0, 148, 148 + 32] {
          var meter = IdleMeter(device(sent: 0, received: 0), at: start)
          let now = start + .seconds(seconds)
          meter.take(device(sent: message * 2 + beside, received: message * 2), at: now)
          #expect(meter.activeAt == now, "\(message) + \(beside) in \(seconds) s")
        }
      }
    }
  }

  @Test("a device that was configured from scratch counts from 0") func reset() {
    var meter = IdleMeter(device(sent: 5000, received: 5000), at: start)
    meter.take(device(sent: 148, received: 92), at: start + .seconds(6))
    #expect(meter.activeAt == start)
    meter.take(device(sent: 148 + 1000, received: 92), at: start + .seconds(12))
    #expect(meter.activeAt == start + .seconds(12))
  }
}
