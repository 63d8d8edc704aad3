import NetworkTypes
import SeededRandom
import Testing

@testable import WireGuardEngine

@Suite struct RoutingTests {
  private func address(_ family: IPAddress.Family, _ random: inout SplitMix64) -> IPAddress {
    // Few bits differ, so that prefixes nest and addresses hit.
    let spread: UInt64 = random.chance(0.5) ? 0x0303_0301 : 0x8000_0001
    return family == .v4
      ? IPAddress(v4: UInt32(truncatingIfNeeded: 0x0a00_0000 ^ (random.next() & spread)))
      : IPAddress(
        family: .v6, high: 0xfd00_0000_0000_0000 ^ (random.next() & 0x8000_0000_0303_0001), low: random.next() & 0xc000_0000_0303_0001)
  }

  @Test("longest-prefix match is brute force's, while prefixes come, move and go", arguments: 1...40) func property(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var table = AllowedIPs()
    defer { table.deallocate() }
    var model: [IPPrefix: PeerIndex] = [:]
    for _ in 0..<400 {
      let family: IPAddress.Family = random.chance(0.5) ? .v4 : .v6
      let prefix = IPPrefix(address(family, &random), length: Int(random.next() % UInt64(family.bitWidth + 1)))!
      if random.chance(0.6) {
        let peer = PeerIndex(slot: Int32(random.next() % 5))
        table.set(prefix, to: peer)
        model[prefix] = peer
      } else if let victim = random.chance(0.8) ? model.keys.sorted().randomElement(using: &random) : prefix {
        table.remove(victim)
        model[victim] = nil
      }
      for _ in 0..<5 {
        let place = address(random.chance(0.5) ? .v4 : .v6, &random)
        let best = model.filter { $0.key.contains(place) }.max { $0.key.length < $1.key.length }
        #expect(table.peer(of: place) == best?.value)
      }
      #expect(table.owner(of: prefix) == model[prefix])
    }
    // No node without a reason: at most a fork for each prefix but one, and none at all in the end.
    #expect(table.nodeCount <= 2 * model.count)
    for prefix in model.keys { table.remove(prefix) }
    #expect(table.nodeCount == 0)
  }

  @Test("the kernel's own cases: nested prefixes, defaults, hosts, both families") func nested() {
    var table = AllowedIPs()
    defer { table.deallocate() }
    let rules = [
      "0.0.0.0/0", "192.168.4.0/24", "192.168.4.4/32", "192.168.0.0/16", "192.95.5.64/27", "::/0", "2607:5300:6006:6b00::/64",
      "10.1.0.0/27",
    ]
    for (slot, rule) in rules.enumerated() { table.set(IPPrefix(rule)!, to: PeerIndex(slot: Int32(slot))) }
    let expected = [
      "192.168.4.20": 1, "192.168.4.4": 2, "192.168.200.182": 3, "192.95.5.93": 4, "192.95.5.96": 0, "2607:5300:6006:6b00::c05f:543": 6,
      "2607:5300:6006:6b01::1": 5, "10.1.0.31": 7, "10.1.0.32": 0,
    ]
    for (address, slot) in expected { #expect(table.peer(of: IPAddress(address)!)?.slot == Int32(slot), "\(address)") }
  }

  @Test("what is not a whole IP header has no peer") func headers() {
    var table = AllowedIPs()
    defer { table.deallocate() }
    table.set(.everything(.v4), to: PeerIndex(slot: 1))
    table.set(.everything(.v6), to: PeerIndex(slot: 2))
    for version in 0..<16 {
      for length in [0, 1, 19, 20, 39, 40] {
        var packet = [UInt8](repeating: 0, count: 64)
        packet[0] = UInt8(version << 4)
        let slot = packet.withUnsafeBytes { table.slot(of: $0.address(0), count: length, isDestination: true) }
        #expect(slot == (version == 4 && length >= 20 ? 1 : version == 6 && length >= 40 ? 2 : -1))
      }
    }
  }

  @Test("an IP packet's length is its header's, and never more than what came") func lengths() {
    func length(_ packet: [UInt8], _ count: Int) -> Int? { packet.withUnsafeBytes { InnerPacket.length($0.address(0), count: count) } }
    let four = innerPacket(from: "10.0.0.1", to: "10.0.0.2", length: 100)
    let six = innerPacket(from: "fd00::1", to: "fd00::2", length: 100)
    for packet in [four, six] {
      let padded = packet + [UInt8](repeating: 0, count: 12)
      #expect(length(padded, 112) == 100)
      #expect(length(padded, 100) == 100)
      #expect(length(padded, 99) == nil)
      #expect(length(padded, 0) == nil)
    }
    var short = four
    short[2] = 0
    short[3] = 19
    #expect(length(short, 100) == nil)
    var strange = four
    strange[0] = 0x55
    #expect(length(strange, 100) == nil)
  }

  @Test("the state of some peers is theirs in the state of all, in the order in which they are asked for") func stateOfSome() {
    let node = SimulatedNode("node", "192.0.2.1:1")
    let others = (0..<5).map { SimulatedNode("other \($0)", "203.0.113.\($0 + 1):1") }
    node.start(at: Moment(nanoseconds: 1))
    for (i, other) in others.enumerated() { node.addPeer(other, "10.0.0.\(i)/32", keepalive: UInt16(i)) }
    let all = node.engine.state
    #expect(all.peers.count == 5 && node.engine.state(of: nil).peers.count == 5 && node.engine.state(of: []).peers.isEmpty)
    let unknown = SimulatedNode("unknown", "203.0.113.9:1").publicKey
    let some = node.engine.state(of: [others[3].publicKey, unknown, others[1].publicKey])
    #expect(some.peers.map(\.publicKey) == [others[3].publicKey, others[1].publicKey] && some.publicKey == all.publicKey)
    #expect(
      some.peers.map(\.persistentKeepalive) == [3, 1] && some.peers.map(\.allowedIPs.description) == ["[10.0.0.3/32]", "[10.0.0.1/32]"])
  }
}
