import NetworkTypes
import RoamwardCore
import TestKit
import Testing

@Suite("The order of tunnels that include the same destinations") struct TunnelOrderTests {
  private func tunnel(_ include: [String]?, allowed: [String] = ["10.0.0.0/8"], _ precedence: TunnelClass = .personal) -> TunnelPolicy {
    Sample.tunnel(
      rules: [], wireGuard: Sample.wireGuard(allowed: allowed),
      routes: include.map { RoutePolicy(include: PrefixList($0.map(Sample.prefix))) },
      precedence: precedence)
  }

  @Test("enterprise tunnels come first, then those for a part of the addresses, then those for everything of a family") func order() {
    let parts = [
      tunnel(["10.77.0.0/16"]), tunnel(nil), tunnel(["128.0.0.0/1"]), tunnel(["10.0.0.0/8", "fd77::/48"], allowed: ["0.0.0.0/0"]),
    ]
    var all = tunnel(["10.77.0.0/16"])
    all.includesAllNetworks = true
    let wholes = [
      all, tunnel(["0.0.0.0/0"]), tunnel(["10.0.0.0/8", "::/0"]), tunnel(["0.0.0.0/1", "128.0.0.0/1"]),
      tunnel(nil, allowed: ["0.0.0.0/0", "::/0"]), tunnel(nil, allowed: []),
    ]
    let enterprise = [tunnel(["0.0.0.0/0"], .enterprise), tunnel(["10.0.0.0/8"], .enterprise)]
    #expect(Set(enterprise.map(\.slots)) == [0..<500])
    #expect(Set(parts.map(\.slots)) == [500..<750])
    #expect(Set(wholes.map(\.slots)) == [750..<1000])
    #expect(TunnelSetup.freeSlot(for: parts[0], used: Set(500..<750)) == 749)
    #expect(TunnelSetup.freeSlot(for: wholes[0], used: Set(500..<752)) == 752)
  }

  @Test("a tunnel whose routes its program alone knows counts as one for everything") func unknown() {
    var known = tunnel(nil)
    known.provider = .command(CommandProviderConfiguration(up: ["up"], down: ["down"], interface: "vpn0"))
    #expect(known.slots == 750..<1000)
    known.routes = RoutePolicy(include: [Sample.prefix("10.0.0.0/8")])
    #expect(known.slots == 500..<750)
  }
}
