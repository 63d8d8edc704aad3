import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// Nothing that a pass computes is quadratic in routes or prefixes: hundreds of thousands are allowed.
@Suite("Growth with prefixes", .serialized) struct PrefixGrowthTests {
  /// No two are neighbours.
  private func prefixes(_ count: Int) -> PrefixList {
    PrefixList((0..<count).compactMap { IPPrefix(IPAddress(v4: 0x0b00_0000 + UInt32($0) * 512), length: 24) })
  }

  private func setup(_ count: Int, exclude: Bool = false, isGuarding: Bool = true) -> TunnelSetup {
    var policy = Sample.tunnel("corp", rules: [])
    policy.routes =
      exclude ? RoutePolicy(include: [.everything(.v4)], exclude: prefixes(count)) : RoutePolicy(include: prefixes(count))
    return TunnelSetup(policy: policy, level: .full, slot: 500, link: "corp", device: .foreign, isGuarding: isGuarding)
  }

  private let cafe = UnderlayFit(Sample.network(Sample.wifi("Cafe")))

  @Test("the desired state, with its firewall", arguments: [true, false]) func desired(exclude: Bool) throws {
    let exponent = try growthExponent { count in
      let setup = setup(count, exclude: exclude)
      return { #expect(!DesiredState(of: [setup], on: cafe).routes.isEmpty) }
    }
    #expect(exponent < linearGrowth)
  }

  @Test("the text of the firewall, and of a change of it", arguments: [true, false]) func firewall(exclude: Bool) throws {
    let exponent = try growthExponent { count in
      let setup = setup(count, exclude: exclude)
      let table = try #require(FirewallTable(of: [setup], on: cafe))
      var other = table
      other.allowsLAN.toggle()
      return { #expect(table.transaction.utf8.count > (other.transaction(after: table)?.utf8.count ?? .max)) }
    }
    #expect(exponent < linearGrowth)
  }

  @Test("plan, repairs and what is made, from nothing, and where one route is gone", arguments: [true, false]) func plan(isFirst: Bool)
    throws
  {
    let exponent = try growthExponent { count in
      let desired = DesiredState(of: [setup(count, isGuarding: false)], on: cafe)
      var observed = ObservedState()
      observed.kernel.links = [Link(index: try #require(InterfaceIndex(7)), name: "corp", flags: 1)]
      if !isFirst {
        observed.kernel.routes = desired.routes
        observed.kernel.routes.remove(at: count / 2)
      }
      return {
        var applied = AppliedState(ObservedState())
        applied.follow(observed, towards: desired)
        let steps = Plan(from: observed, to: desired).steps
        #expect(applied.repairs(by: steps).count == steps.count)
        for step in steps { applied.take(step) }
      }
    }
    #expect(exponent < linearGrowth)
  }

  @Test("routes of the network that claim some of them") func claims() throws {
    let exponent = try growthExponent { count in
      let setup = setup(count)
      var kernel = KernelState()
      kernel.routes = prefixes(count).map { Route(to: $0, via: IPAddress(v4: 0xc000_0201), on: "wlan0", routeProtocol: 16) }
      return { #expect(routeClaims(on: [setup], in: kernel, cafe).count == 20) }
    }
    #expect(exponent < linearGrowth)
  }
}
