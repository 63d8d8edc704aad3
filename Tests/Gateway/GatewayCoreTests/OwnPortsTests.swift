import GatewayCore
import NetworkTypes
import SeededRandom
import Testing

@Suite struct OwnPortsTests {
  @Test("flows are translated to ports that are neither the gateway's nor the system's, and every other port is kept where it can be")
  func ranges() {
    var random = SplitMix64(seed: 3)
    for round in 0..<2000 {
      let own = OwnPorts((0..<Int(random.next() % 6)).map { _ in UInt16(truncatingIfNeeded: random.next() >> random.next() % 12) })
      let ranges = own.ranges
      #expect(!ranges.isEmpty, "\(round): \(own.ports)")
      for range in ranges {
        #expect(range.lowerBound >= 1024 && !own.ports.contains { range.contains($0) }, "\(round): \(own.ports)")
        #expect(ranges.count { $0.overlaps(range) } == 1, "\(round): \(own.ports)")
      }
      #expect(ranges.map(\.count) == ranges.map(\.count).sorted(), "\(round): \(own.ports)")
      // The ports that are left out are next to the gateway's.
      let covered = ranges.reduce(0) { $0 + $1.count }
      #expect(covered >= 64_512 - 1025 * own.ports.count, "\(round): \(own.ports)")
    }
    #expect(OwnPorts([]).ranges == [1024 ... .max])
    #expect(OwnPorts([.max, 1024, 0, 443]).ranges == [1025...65_534])
    #expect(OwnPorts([51_820, 20_900, 51_820, 443]).ranges == [51_821 ... .max, 1024...20_899, 20_901...51_819])
  }

  @Test("a table has the gateway's ports in its translation and its check of flows; other ports need another table") func table() throws {
    var work = Administration()
    try work.addPool("10.77.0.0/24", isTranslated: true)
    try work.addPool("fd77::/64")
    var table = GatewayTable(work.directory, link: "wg-gateway", at: work.now)
    let before = table
    table.ownPorts = [51_820, 443]
    #expect(table.changes(from: before) == nil)
    for line in [
      "meta l4proto { tcp, udp } masquerade to :1024-51819", "tcp sport 51821-65535 masquerade to :51821-65535",
      "ct original ip saddr 10.77.0.0/24 ct reply proto-dst { 443, 51820 } drop",
      // Another program may translate a pool that this table does not.
      "ct original ip6 saddr fd77::/64 ct reply proto-dst { 443, 51820 } drop",
    ] {
      #expect(table.transaction.contains(line), "\(line)")
    }
    #expect(!before.transaction.contains("shadows"))
  }

  @Test("what packets change in a listing is no change of the table") func lasting() {
    func listing(_ elements: String, _ address: String) -> String {
      """
      table inet roamward_gateway {
      \tset greetings_v4 {
      \t\ttype ipv4_addr
      \t\tflags dynamic,timeout
      \t\ttimeout 10s\(elements)
      \t}
      \tset ends_v4 {
      \t\ttype ipv4_addr . ipv4_addr
      \t\telements = { \(address) . \(address),
      \t\t\t     10.77.0.3 . 10.77.0.3 }
      \t}
      }
      """
    }
    let elements = """

      \t\telements = { 10.77.0.2 limit rate 2/second burst 10 packets expires 9s,
      \t\t\t     10.77.0.3 limit rate 2/second burst 10 packets expires 8s }
      """
    let empty = GatewayTable.lasting(listing("", "10.77.0.2"))
    #expect(GatewayTable.lasting(listing(elements, "10.77.0.2")) == empty)
    #expect(empty == listing("", "10.77.0.2"))
    #expect(GatewayTable.lasting(listing(elements, "10.77.0.9")) != empty)
  }
}
