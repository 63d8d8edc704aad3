import PageProtocol
import SeededRandom
import Testing

@Suite struct ConnectionsTests {
  @Test("whatever one user's devices do, another user gets connections; a device has at most twelve, a user 24") func shares() {
    var random = SplitMix64(seed: 7)
    for _ in 0..<200 {
      var present: [PageConnections.Holder] = []
      for _ in 0..<400 {
        let mallory = PageConnections.Holder(user: 1, device: 10 + Int64(random.next() % 30))
        if PageConnections.hasRoom(for: mallory, among: present) { present.append(mallory) }
        if random.chance(0.1), !present.isEmpty { present.remove(at: Int(random.next() % UInt64(present.count))) }
      }
      #expect(present.count <= PageConnections.limitOfUser)
      #expect(Dictionary(grouping: present, by: \.device).values.allSatisfy { $0.count <= PageConnections.limitOfDevice })
      #expect(PageConnections.hasRoom(for: PageConnections.Holder(user: 2, device: 1), among: present))
    }
    let crowd = (0..<PageConnections.limit).map { PageConnections.Holder(user: Int64($0), device: Int64($0)) }
    #expect(!PageConnections.hasRoom(for: PageConnections.Holder(user: 999, device: 999), among: crowd))
  }
}
