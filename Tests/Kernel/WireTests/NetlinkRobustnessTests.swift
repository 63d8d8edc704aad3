import Glibc
import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import Testing
import Wire

@Suite("Netlink: any bytes at all")
struct NetlinkRobustnessTests {
  /// Reads a datagram by every decoder there is; counts what came out, so that none is optimised away.
  private static func decodeAll(_ datagram: [UInt8]) -> Int {
    var count = 0
    var reader = WireGuardStateReader()
    for message in NetlinkMessages(datagram) {
      if Link(message) != nil { count += 1 }
      if LinkAddress(message, linkNames: [:]) != nil { count += 1 }
      if Route(message, linkNames: [:]) != nil { count += 1 }
      if RoutingRule(message) != nil { count += 1 }
      if Neighbour(message, linkNames: [:]) != nil { count += 1 }
      if ListeningSocket(message) != nil { count += 1 }
      if WirelessInterface(message) != nil { count += 1 }
      if WirelessNetwork(message) != nil { count += 1 }
      if WirelessStation(message) != nil { count += 1 }
      if ConntrackMessage.originalTuple(in: message) != nil { count += 1 }
      if let verdict = NetlinkAcknowledgement(message) { count += Int(verdict.code & 1) }
      if LinkMessage.isNoise(message) || RouteMessage.isCloned(message) || NL80211Message.isAboutConnection(message) { count += 1 }
      if RouteMessage.table(of: message) != nil || NeighbourMessage.address(of: message) != nil { count += 1 }
      reader.read(message)
    }
    return count + (reader.state?.peers.count ?? 0)
  }

  /// Every captured message alone.
  private static let corpus: [[UInt8]] = [
    CapturedRoutes.links, CapturedRoutes.addresses, CapturedRoutes.routes4, CapturedRoutes.routes6, CapturedRoutes.own4,
    CapturedRoutes.rules, CapturedRoutes.neighbours, CapturedRoutes.noTable, CapturedRoutes.refusal, CapturedGeneric.wireguard,
    CapturedGeneric.nl80211, CapturedGeneric.nl80211Scan, CapturedSockets.port5353,
  ].flatMap { dump in
    NetlinkMessages(dump).map { message in Array(dump[(message.payload.startIndex - 16)..<message.payload.endIndex]) }
  }

  #if DEBUG
    private static let rounds = 400_000
  #else
    private static let rounds = 1_000_000
  #endif

  /// Of this thread, which other processes do not delay.
  private func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  @Test("changed and cut messages are read without a trap, and quickly", arguments: [1, 2026])
  func mutations(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let start = processorTime()
    var decoded = 0
    for _ in 0..<Self.rounds / 2 {
      var datagram = Self.corpus.randomElement(using: &random) ?? []
      for _ in 0...Int.random(in: 0...6, using: &random) {
        // Lengths and types stand at even places: small numbers there do the most harm.
        let place = Int.random(in: 0..<datagram.count, using: &random)
        datagram[place] = Bool.random(using: &random) ? UInt8.random(in: 0...255, using: &random) : UInt8.random(in: 0...9, using: &random)
      }
      if Bool.random(using: &random) {
        datagram.removeLast(Int.random(in: 0...datagram.count, using: &random))
      } else {
        // The true length, so that what follows the header is looked at.
        let length = datagram.count
        for i in 0..<min(4, length) { datagram[i] = UInt8(truncatingIfNeeded: length >> (8 * i)) }
      }
      decoded += Self.decodeAll(datagram)
    }
    #expect(decoded > Self.rounds / 20)
    #expect(processorTime() - start < .seconds(60))
  }

  @Test("random bytes and every prefix of real answers")
  func noise() {
    var random = SplitMix64(seed: 7)
    for length in 0..<600 { _ = Self.decodeAll((0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }) }
    for message in Self.corpus { for length in 0...message.count { _ = Self.decodeAll(Array(message.prefix(length))) } }
    #expect(Self.decodeAll([]) == 0)
    #expect(Self.decodeAll(Array(repeating: 0, count: 4096)) == 0, "a length of nothing ends the datagram")
    #expect(Self.decodeAll(Array(repeating: 0xff, count: 4096)) == 0)
  }

  @Test("attributes within attributes cost no more than their bytes")
  func nesting() {
    // 16 KiB of headers, each of which claims all that follows.
    var payload: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    for i in stride(from: 16_380, to: 0, by: -4) { payload += [UInt8(i & 0xff), UInt8(i >> 8), 18, 0x80] }
    #expect(Link(NetlinkMessage(type: 16, payload: payload[...])) == nil)
  }
}
