import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import TestKit
import Testing

/// Tunnels through other tunnels: who needs whom, and the ways of their packets.
@Suite struct NestingTests {
  static let cafe = Sample.network(Sample.wifi("Cafe"))

  func tunnel(_ name: String, through outer: String? = nil, _ precedence: TunnelClass = .personal) -> TunnelPolicy {
    var tunnel = Sample.tunnel(name, rules: [], precedence: precedence)
    tunnel.through = outer.map { OuterTunnel($0, location: Sample.place()) }
    return tunnel
  }

  func claim(
    _ tunnel: TunnelPolicy, _ outcome: Decision.Outcome, override: Bool? = nil, isRunning: Bool = false
  ) -> Exclusion.Claim {
    let override = override.map { ManualOverride(wantsUp: $0, since: 1, lifetime: .resume) }
    return Exclusion.Claim(tunnel, Decision(tunnel: tunnel.name, outcome: outcome), override: override, isRunning: isRunning)
  }

  @Test("a wanted tunnel wants the one that it goes through, over any depth and in any order; one that is not wanted does not")
  func wanted() {
    let (outer, middle, inner) = (tunnel("outer"), tunnel("middle", through: "outer"), tunnel("inner", through: "middle"))
    for order in [[outer, middle, inner], [inner, middle, outer], [middle, inner, outer]] {
      let settled = Exclusion.settle(order.map { claim($0, $0.name == "inner" ? .connect : .disconnect) })
      #expect(settled.claims.map(\.intent) == [.up, .up, .up])
      #expect(settled.carrying == ["outer": "middle", "middle": "inner"])
      let idle = Exclusion.settle(order.map { claim($0, $0.name == "outer" ? .connect : .disconnect) })
      #expect(idle.claims.allSatisfy { ($0.intent == .up) == ($0.tunnel.name == "outer") } && idle.carrying.isEmpty)
    }
  }

  @Test("nothing is up, and nothing gives way, for a tunnel that has to be down") func idle() {
    let claims = [
      claim(tunnel("first", .enterprise), .connect), claim(tunnel("outer"), .disconnect),
      claim(tunnel("inner", through: "outer", .enterprise), .connect),
    ]
    let settled = Exclusion.settle(claims)
    #expect(settled.losers == ["inner": "first"] && settled.carrying.isEmpty && settled.claims[1].intent == .down)
    // The outer tunnel is the one that has to give way.
    let chain = [
      claim(tunnel("inner", through: "middle"), .connect), claim(tunnel("first", .enterprise), .connect),
      claim(tunnel("middle", through: "outer", .enterprise), .disconnect), claim(tunnel("outer"), .disconnect),
    ]
    let lost = Exclusion.settle(chain)
    #expect(lost.losers["inner"] == "first" && lost.carrying.isEmpty && lost.claims[3].intent == .down)
  }

  @Test("random tunnels: one enterprise tunnel is up at most, and each carrying tunnel carries one that is up", arguments: 0..<8)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<500 {
      let names = ["a", "b", "c", "d", "e"].shuffled(using: &random)
      let claims = names.enumerated().map { i, name in
        let outer = i > 0 && Bool.random(using: &random) ? names[Int.random(in: 0..<i, using: &random)] : nil
        return claim(
          tunnel(name, through: outer, Bool.random(using: &random) ? .enterprise : .personal),
          [.connect, .disconnect, .ignore].randomElement(using: &random) ?? .ignore, isRunning: Bool.random(using: &random))
      }.shuffled(using: &random)
      let settled = Exclusion.settle(claims)
      let up = settled.claims.filter { claim in
        !settled.isHeld(claim.tunnel.name) && (claim.intent == .up || claim.intent == .unchanged && claim.isRunning)
      }
      #expect(up.count { $0.tunnel.precedence == .enterprise } <= 1, "\(settled)")
      for inner in settled.carrying.values { #expect(up.contains { $0.tunnel.name == inner }, "\(settled)") }
      for claim in up {
        guard let outer = claim.tunnel.through else { continue }
        #expect(up.contains { $0.tunnel.name == outer.name }, "\(settled)")
      }
      let wanted = claims.filter { $0.tunnel.precedence == .enterprise && $0.tunnel.through == nil && $0.intent == .up }
      #expect(wanted.isEmpty || up.contains { $0.tunnel.precedence == .enterprise }, "one runs where one can: \(settled)")
    }
  }

  @Test("what runs keeps the outer tunnel up while a fact is awaited, and while it is left as it is") func running() {
    for outcome in [Decision.Outcome.pending, .ignore] {
      let claims = [
        claim(tunnel("outer"), .disconnect, isRunning: true), claim(tunnel("inner", through: "outer"), outcome, isRunning: true),
      ]
      #expect(Exclusion.settle(claims).claims.map(\.intent) == [.up, .unchanged])
    }
  }

  @Test("a person who holds the outer tunnel down, and `enabled: false`, come before those inside it, and say so") func blocked() {
    var disabled = tunnel("outer")
    disabled.isEnabled = false
    for (outer, held, obstacle) in [(tunnel("outer"), false, OuterObstacle.heldDown), (disabled, nil, .disabled)]
      as [(TunnelPolicy, Bool?, OuterObstacle)]
    {
      let claims = [
        claim(outer, .connect, override: held), claim(tunnel("middle", through: "outer"), .connect, override: true),
        claim(tunnel("inner", through: "middle"), .connect),
      ]
      let settled = Exclusion.settle(claims)
      #expect(settled.blocked == ["middle": .blocked(by: "outer", obstacle), "inner": .blocked(by: "middle", .blocked)])
      #expect(settled.claims[0].intent == .down && settled.carrying.isEmpty)
    }
    #expect(Exclusion.settle([claim(tunnel("inner", through: "none"), .connect)]).blocked == ["inner": .blocked(by: "none", .missing)])
  }

  @Test("a tunnel inside one that gives way gives way too; by hand it takes its outer tunnel's place among the enterprise's")
  func excluded() {
    let corp = tunnel("corp", .enterprise)
    let (outer, inner) = (tunnel("outer", .enterprise), tunnel("inner", through: "outer"))
    let settled = Exclusion.settle([claim(corp, .connect), claim(outer, .connect), claim(inner, .connect)])
    #expect(settled.losers == ["outer": "corp", "inner": "corp"])
    let byHand = Exclusion.settle([claim(corp, .connect), claim(outer, .disconnect), claim(inner, .connect, override: true)])
    #expect(byHand.losers == ["corp": "outer"] && byHand.carrying == ["outer": "inner"])
  }

  @Test("a circle, which no policy has, ends") func circle() {
    let claims = [
      claim(tunnel("a", through: "b"), .connect), claim(tunnel("b", through: "a"), .connect), claim(tunnel("c", through: "c"), .connect),
    ]
    #expect(Exclusion.settle(claims).blocked["c"] == .blocked(by: "c", .missing))
  }

  private func tunnel(_ name: String, _ precedence: TunnelClass) -> TunnelPolicy { tunnel(name, through: nil, precedence) }

  // MARK: Ways

  func setup(_ policy: TunnelPolicy, _ level: TunnelMachine.Level, slot: UInt32, isRunning: Bool = true) -> TunnelSetup {
    guard case .wireGuard(let provider) = policy.provider, let configuration = provider.configuration
    else { preconditionFailure("a WireGuard tunnel is meant") }
    let device = WireGuardDevice(
      engine: .kernel, privateKey: configuration.privateKey, publicKey: configuration.publicKey,
      peers: configuration.peers)
    var setup = TunnelSetup(policy: policy, level: level, slot: slot, link: policy.name, device: .wireGuard(device))
    setup.isRunning = isRunning
    return setup
  }

  func nested(_ outer: TunnelMachine.Level, _ inner: TunnelMachine.Level, isStrict: Bool = false) -> DesiredState {
    let (a, b) = (tunnel("outer"), tunnel("inner", through: "outer"))
    let currentTunnels = [
      DesiredTunnels.CurrentTunnel(setup(a, outer, slot: 500), isWanted: true, isRunning: outer > .nothing),
      DesiredTunnels.CurrentTunnel(setup(b, inner, slot: 501), isWanted: true, isRunning: inner > .nothing),
    ]
    let tunnels = DesiredTunnels(PolicySet(tunnels: [a, b]), currentTunnels: currentTunnels, on: Self.cafe)
    return DesiredState(of: tunnels.setups, on: UnderlayFit(Self.cafe, isReversePathStrict: isStrict))
  }

  @Test("the inner tunnel's packets go into the outer one's link, and are unreachable before and after that") func ways() {
    let lost = ["unreachable default table 23000 proto 82", "unreachable default table 23000 proto 82 metric 1024"]
    func ways(_ state: DesiredState) -> [String] { state.routes.filter { $0.table > 22_000 }.map(\.description).sorted() }
    func rules(_ state: DesiredState) -> [String] {
      state.rules.filter { $0.priority > 22_000 && $0.family == .v4 }.map(\.description).sorted()
    }
    let last = "priority 23000 fwmark 0x52800000/0xff800000 lookup 23000 protocol 82"
    #expect(ways(nested(.nothing, .nothing)) == [] && rules(nested(.nothing, .nothing)) == [])
    for (outer, inner) in [(TunnelMachine.Level.link, .nothing), (.nothing, .full)] as [(TunnelMachine.Level, TunnelMachine.Level)] {
      #expect(ways(nested(outer, inner)) == lost && rules(nested(outer, inner)) == [last])
    }
    #expect(ways(nested(.full, .full)) == ["default dev outer table 22500 proto 82"] + lost)
    #expect(
      rules(nested(.full, .full)) == ["priority 22500 fwmark 0x528001f5/0xffffffff lookup 22500 protocol 82", last])
  }

  @Test("its device has the mark of that way, its MTU is that of the outer one less its own headers, and it leaves nothing outside")
  func device() {
    let state = nested(.full, .full)
    func mark(_ name: String) -> UInt32? {
      guard case .wireGuard(let device)? = state.links.first(where: { $0.name == name })?.device else { return nil }
      return device.firewallMark
    }
    #expect(state.links.map(\.mtu) == [1420, 1340])
    #expect(mark("outer") == Ownership.mark && mark("inner") == Ownership.innerMark(of: 500))
    guard case .wireGuard(let orphan)? = nested(.nothing, .full).links.first?.device else {
      preconditionFailure("a WireGuard link is meant")
    }
    #expect(orphan.firewallMark == Ownership.innerMark(of: nil), "no rule but the last one takes it")
  }

  @Test(
    "through a link that a program makes, its MTU counts; before it is there, that of the network less usual headers",
    arguments: [("outer", 1300, 1280), ("outer", 1400, 1320), ("eth0", 1400, 1340)] as [(String, UInt32, UInt32)])
  func foreignOuter(link: String, mtu: UInt32, expected: UInt32) {
    var a = tunnel("outer")
    a.provider = .command(CommandProviderConfiguration(up: ["/bin/true"], down: ["/bin/true"], interface: "outer"))
    let outer = TunnelSetup(policy: a, level: .full, slot: 500, link: "outer", device: .foreign)
    let b = tunnel("inner", through: "outer")
    let kernel = KernelState(links: [Link(index: Sample.index(2), name: link, mtu: mtu)])
    let fit = UnderlayFit(Self.cafe, outerMTUs: kernel.outerMTUs(for: [a, b]))
    #expect(DesiredState(of: [outer, setup(b, .full, slot: 501)], on: fit).links.last?.mtu == expected)
    #expect(kernel.outerMTUs(for: [a]).isEmpty)
  }

  @Test("where return paths are checked strictly, all that goes to its gateway takes the outer tunnel, not the way outside") func strict() {
    var (outer, inner) = (tunnel("outer"), tunnel("inner", through: "outer"))
    inner.routes = RoutePolicy(include: [.everything(.v4)])
    outer.routes = RoutePolicy(include: [Sample.prefix("10.0.0.0/8")])
    let state = DesiredState(
      of: [setup(outer, .full, slot: 500), setup(inner, .full, slot: 501)], on: UnderlayFit(Self.cafe, isReversePathStrict: true))
    #expect(state.routes.contains { $0.description == "203.0.113.10/32 dev outer table 21501 proto 82" })
    #expect(!state.routes.contains { $0.kind == .throw && $0.destination == Sample.prefix("203.0.113.10/32") })
  }
}
