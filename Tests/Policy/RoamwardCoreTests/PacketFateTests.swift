import NetworkTypes
import RoamwardCore
import TestKit
import Testing

@Suite("What becomes of a packet") struct PacketFateTests {
  private func desired(_ tunnels: [TunnelPolicy], up: Set<String>, on network: NetworkSnapshot = Sample.network(Sample.wifi("Cafe")))
    -> DesiredState
  {
    let setups = tunnels.enumerated().map { i, tunnel in
      TunnelSetup(
        policy: tunnel, level: up.contains(tunnel.name) ? .full : .nothing, slot: UInt32(i), link: tunnel.name, device: .foreign,
        isGuarding: tunnel.guarding == .always || tunnel.guarding == .on && up.contains(tunnel.name))
    }
    return DesiredState(of: setups, on: UnderlayFit(network))
  }

  private func full(_ killSwitch: KillSwitch, excluding: [String] = [], addresses: [String] = ["10.77.0.2/32"]) -> TunnelPolicy {
    var tunnel = Sample.tunnel(
      rules: [], wireGuard: Sample.wireGuard(allowed: ["0.0.0.0/0", "::/0"], addresses: addresses),
      routes: RoutePolicy(include: [.everything(.v4), .everything(.v6)], exclude: PrefixList(excluding.map(Sample.prefix))))
    tunnel.killSwitch = killSwitch
    return tunnel
  }

  @Test("by rules in their order, the longest prefix, throw, unreachable, and then the firewall") func routes() {
    let everything = desired([full(.off, excluding: ["198.18.0.0/15"])], up: ["corp"])
    #expect(everything.fate(of: Sample.address("203.0.113.9")) == .inside(link: "corp", by: .everything(.v4)))
    #expect(everything.fate(of: Sample.address("198.18.0.1")) == .outside)
    // A neighbour, one with a public address, and a family that the tunnel has no address for.
    let home = desired([full(.off)], up: ["corp"], on: Sample.network(Sample.wifi("Home", address: "192.168.7.23/24")))
    #expect(home.fate(of: Sample.address("192.168.7.77")) == .outside)
    #expect(everything.fate(of: Sample.address("192.0.2.77")) == .inside(link: "corp", by: .everything(.v4)))
    #expect(everything.fate(of: Sample.address("2001:db8::1")) == .unreachable(by: .everything(.v6)))
    let two = [
      Sample.tunnel("one", rules: [], routes: RoutePolicy(include: [Sample.prefix("10.0.0.0/8")], exclude: [Sample.prefix("10.9.0.0/16")])),
      Sample.tunnel("two", rules: [], routes: RoutePolicy(include: [Sample.prefix("10.9.9.0/24")])),
    ]
    let both = desired(two, up: ["one", "two"])
    #expect(both.fate(of: Sample.address("10.1.1.1")) == .inside(link: "one", by: Sample.prefix("10.0.0.0/8")))
    #expect(both.fate(of: Sample.address("10.9.9.1")) == .inside(link: "two", by: Sample.prefix("10.9.9.0/24")))
    #expect(both.fate(of: Sample.address("10.9.1.1")) == .outside)
    #expect(desired(two, up: ["one"]).fate(of: Sample.address("10.9.9.1")) == .outside)
  }

  @Test("a kill switch holds back what its tunnel includes, less what may flow") func firewall() {
    let locked = desired(
      [full(.always, excluding: ["198.18.0.0/15"])], up: [], on: Sample.network(Sample.wifi("Cafe", address: "192.168.7.23/24")))
    #expect(locked.fate(of: Sample.address("203.0.113.9")) == .blocked(by: ["corp"]))
    #expect(locked.fate(of: Sample.address("2001:db8::1")) == .blocked(by: ["corp"]))
    #expect(locked.fate(of: Sample.address("198.18.0.1")) == .outside)
    #expect(locked.fate(of: Sample.address("192.168.7.1")) == .outside && locked.fate(of: Sample.address("fe80::1")) == .outside)
    #expect(locked.fate(of: Sample.address("127.0.0.1")) == .outside)
    // Multicast and broadcast for discovery stay outside; addresses of RFC 3927 only if the machine has one.
    #expect(
      ["224.0.0.251", "239.255.255.250", "255.255.255.255", "ff02::fb"].allSatisfy { locked.fate(of: Sample.address($0)) == .outside })
    #expect(locked.fate(of: Sample.address("239.1.2.3")) == .blocked(by: ["corp"]))
    #expect(locked.fate(of: Sample.address("169.254.1.1")) == .blocked(by: ["corp"]))
    let alone = desired([full(.always)], up: [], on: Sample.network(Sample.wifi("Cafe", address: "169.254.7.7/16")))
    #expect(alone.fate(of: Sample.address("169.254.1.1")) == .outside && alone.fate(of: Sample.address("192.168.7.1")) != .outside)
    // A network that calls a public prefix its own gets nothing.
    #expect(desired([full(.always)], up: []).fate(of: Sample.address("192.0.2.77")) == .blocked(by: ["corp"]))
  }

  @Test("a session is cut where its way is another one") func cuts() {
    let inside = PacketFate.inside(link: "corp", by: .everything(.v4))
    #expect(PacketFate.outside.isCut(by: inside) && PacketFate.outside.isCut(by: .blocked(by: ["corp"])) && inside.isCut(by: .outside))
    #expect(inside.isCut(by: .inside(link: "other", by: .everything(.v4))))
    #expect(!inside.isCut(by: .inside(link: "corp", by: Sample.prefix("10.0.0.0/8"))) && !PacketFate.outside.isCut(by: .outside))
    #expect(!PacketFate.blocked(by: ["corp"]).isCut(by: inside))
  }
}
