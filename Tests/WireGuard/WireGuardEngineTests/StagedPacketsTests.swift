import Testing

@testable import WireGuardEngine

@Suite("Packets that wait for a session")
struct StagedPacketsTests {
  private func packet(_ number: Int, of count: Int = 1420) -> [UInt8] {
    var packet = [UInt8](repeating: 0, count: count)
    packet.withUnsafeMutableBytes { $0.storeBytes(of: number, as: Int.self) }
    return packet
  }

  private func numbers(_ packets: [[UInt8]]) -> [Int] { packets.map { $0.withUnsafeBytes { $0.loadUnaligned(as: Int.self) } } }

  @Test("of more than 128 of a peer the oldest go, and order is kept") func manyOfOne() {
    var staged = StagedPackets()
    for i in 0..<200 { packet(i).withUnsafeBytes { staged.append($0, for: PeerIndex(slot: 1)) } }
    #expect(numbers(staged.take(PeerIndex(slot: 1))) == Array(72..<200))
    #expect(staged.bytes == 0 && staged.take(PeerIndex(slot: 1)).isEmpty)
  }

  @Test("silent peers leave room for others, and the room in all is never exceeded", arguments: [23, 40, 5_000])
  func silentPeers(count: Int) {
    var staged = StagedPackets()
    for i in 0..<128 where count * i < 20_000 {
      for peer in 0..<count {
        packet(i).withUnsafeBytes { staged.append($0, for: PeerIndex(slot: Int32(peer))) }
        guard staged.bytes <= StagedPackets.mostBytes else { return #expect(staged.bytes <= StagedPackets.mostBytes) }
      }
    }
    let last = PeerIndex(slot: Int32(count))
    for i in 0..<3 { packet(i).withUnsafeBytes { staged.append($0, for: last) } }
    // Among peers with one packet each, a peer with two has the most.
    #expect(numbers(staged.take(last)) == (count < 3_000 ? [0, 1, 2] : [1, 2]))
    // The packets that are left of the others are their newest, in order.
    for peer in 0..<count {
      let left = numbers(staged.take(PeerIndex(slot: Int32(peer))))
      #expect(left.isEmpty || left == Array(left[0]..<left[0] + left.count))
    }
    #expect(staged.bytes == 0)
  }
}
