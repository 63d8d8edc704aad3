import NetworkTypes
import Testing

@testable import NameServer

/// Questions of programs with a route of their own: the servers of the route answer all of them, whatever the rules say.
@Suite("Names of programs with a route of their own") struct RouteNameTests {
  private static let outside = Upstream(IPAddress(v4: 0xc633_6401))

  /// Route 0 has a server of its own, route 1 that of corp, and route 2 none. `shop.example` is routed.
  private func lab() -> Lab {
    let lab = Lab()
    #expect(lab.configure(Self.configuration()) == nil)
    lab.setPool(2, SocketPool(v4: Array(96..<112)))
    lab.clear()
    return lab
  }

  private static func configuration() -> NameServerConfiguration {
    var configuration = Lab.configuration(corp: .connectAlways(trigger: 0))
    configuration.groups += [
      UpstreamGroup(servers: [outside], pool: 2), UpstreamGroup(servers: [Lab.inside], pool: 1, longestTTL: 60),
      UpstreamGroup(servers: [], pool: 1),
    ]
    configuration.routes = [0: 2, 1: 3, 2: 4]
    if let name = DomainName("shop.example") { configuration.routed.add(name, 0) }
    configuration.searchDomains = [DomainName("lan.example")].compactMap { $0 }
    return configuration
  }

  private static func client(_ route: UInt16, port: UInt16 = 40_000) -> Client {
    Client(listener: 1000, address: IPAddress(v4: 0x7f00_0001), port: port, isLocal: true, asked: .ofRoute(route))
  }

  @Test(
    "names of a tunnel that is down, refused ones, routed ones and those with a search domain are asked at once",
    arguments: ["wiki.corp.example", "x.refused.example", "www.shop.example", "wiki.corp.example.lan.example", "www.example"])
  func bypasses(_ name: String) {
    for (route, server) in [(0, Self.outside), (1, Lab.inside)] as [(UInt16, Upstream)] {
      let lab = lab()
      lab.ask(name, from: Self.client(route))
      #expect(lab.datagrams.map(\.datagram.address) == [server.address], "\(route)")
      lab.answer([Messages.a("203.0.113.7", ttl: 300)])
      #expect(lab.readings.map(\.addresses) == [["203.0.113.7"]] && lab.requests.isEmpty, "\(route)")
      lab.clear()
      // Kept for programs of this route alone.
      lab.ask(name, from: Self.client(route, port: 40_001))
      #expect(lab.readings.map(\.addresses) == [["203.0.113.7"]] && lab.datagrams.isEmpty && lab.counters.cached == 1)
      lab.clear()
      lab.ask(name, from: Self.client(1 - route, port: 40_002))
      #expect(lab.datagrams.count == 1 && lab.replies.isEmpty)
    }
  }

  @Test("without servers, and by a route that is gone, a question fails at once") func fails() {
    for route in [2, 7] as [UInt16] {
      let lab = lab()
      lab.ask("www.example", from: Self.client(route))
      #expect(lab.readings.map(\.code) == [2] && lab.datagrams.isEmpty, "\(route)")
    }
  }

  @Test("questions that are open when the routes change go on by the new ones") func changes() {
    let lab = lab()
    lab.ask("www.example", from: Self.client(1))
    lab.clear()
    var configuration = Self.configuration()
    configuration.routes = [1: 2]
    #expect(lab.configure(configuration) == nil)
    #expect(lab.datagrams.map(\.datagram.address) == [Self.outside.address])
    configuration.routes = [1: 9]
    #expect(lab.configure(configuration) == "there is no group 9")
  }
}
