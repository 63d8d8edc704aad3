import JSON
import LoginProtocol
import NetworkTypes
import ProviderProtocol
import SeededRandom
import Testing

@testable import ClientProvider

@Suite("The life of a client, by events and times alone") struct ClientLifeTests {
  /// Connected at paris, where both gateways answer.
  private func connected() throws -> ClientWorld {
    var world = ClientWorld()
    world.answering = [ClientWorld.paris, ClientWorld.lyonAddress]
    try world.start(kept: true)
    world.live(for: .seconds(1))
    #expect(world.life.isConnected && world.isTold == true)
    return world
  }

  @Test("over random events, each start has one end, nothing follows it, and a gateway that answers is found", arguments: 0..<200)
  func random(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var world = ClientWorld()
    for _ in 0..<400 {
      if case .idle = world.life.phase, random.chance(0.3) {
        try world.start(kept: random.chance(0.7))
        continue
      }
      if random.chance(0.05) {
        world.answering = Set(["relay", ClientWorld.paris, ClientWorld.lyonAddress].filter { _ in random.chance(0.6) })
      }
      if random.chance(0.3) { world.reading.sent += 1_000 }
      if random.chance(0.2) { world.reading.received += 1_000 }
      switch Int(random.next() % 40) {
      case 0: world.take(.network(isThere: random.chance(0.6)))
      case 1: world.take(.wake)
      case 2, 3:
        var grant = world.life.run.grant ?? ClientWorld.grant
        grant.mtu = UInt16(1_300 + random.next() % 4)
        if random.chance(0.3) { grant.keepalive = 20 }
        if random.chance(0.2) { grant.addresses = [IPAddress(v4: 0x0a4d_0109)] }
        if random.chance(0.2) { grant.sites = random.chance(0.5) ? [] : ClientWorld.grant.sites }
        world.push(grant)
      case 4: if random.chance(0.1) { world.endSession() }
      case 5: if random.chance(0.1) { world.take(.stop) }
      case 6: if random.chance(0.1) { world.take(.failed(TunnelFailure(code: "engine-ended", text: "", help: .time))) }
      // An answer that comes twice, or late.
      case 7, 8:
        let late = world.past.filter { if case .start = $0 { false } else { Self.hasAttempt($0) } }
        if !late.isEmpty, !world.asked.isEmpty || random.chance(0.5) {
          let event = random.pick(late)
          if !world.isDue(event) { world.take(event) }
        }
      case 9..<25: if !world.asked.isEmpty { world.answer(Int(random.next() % UInt64(world.asked.count)), succeeds: random.chance(0.95)) }
      default: _ = world.wait()
      }
    }
    world.answering = [ClientWorld.paris, ClientWorld.lyonAddress]
    if case .idle = world.life.phase { try world.start(kept: true) }
    world.take(.network(isThere: true))
    for _ in 0..<60 where !world.life.isConnected || world.isTold != true {
      world.live(for: .seconds(1))
      if case .idle = world.life.phase { try world.start(kept: true) }
    }
    #expect(world.life.isConnected && world.isTold == true)
    world.take(.stop)
    #expect(world.ends.count == world.starts)
  }

  /// Whether an event answers one attempt.
  private static func hasAttempt(_ event: ClientEvent) -> Bool {
    switch event {
    case .applied, .refused, .resolved, .unresolved, .look, .read, .relayOpened, .relayEnded, .tell, .searchAgain: true
    default: false
    }
  }

  @Test("answers to an earlier search or request have no effect") func late() throws {
    var world = try connected()
    let past = world.past.filter(Self.hasAttempt)
    world.take(.network(isThere: true))
    world.live(for: .seconds(1))
    var life = world.life
    #expect(past.count > 2)
    for event in past { #expect(life.take(event, at: world.now).isEmpty, "\(event)") }
  }

  @Test("a tunnel that moves to another gateway is ready again, also if the network changes before the settings are in force")
  func networkDuringMove() throws {
    var world = try connected()
    // lyon is nearer by 39 ms.
    while world.life.link?.standing == .connected, world.now.nanoseconds < 2_000_000_000_000 {
      if let index = world.asked.firstIndex(where: { if case .apply = $0 { false } else { true } }) {
        world.answer(index, succeeds: true)
      } else {
        guard world.wait() else { throw Failure.noMove }
      }
    }
    guard case .moving? = world.life.link?.phase, case .apply? = world.asked.last else { throw Failure.noMove }
    #expect(world.isTold == false)
    world.take(.network(isThere: true))
    // The gateway answers before the agent has applied its settings.
    for _ in 0..<100 {
      if let index = world.asked.firstIndex(where: { if case .apply = $0 { false } else { true } }) {
        world.answer(index, succeeds: true)
      } else if !world.life.isConnected {
        _ = world.wait()
      }
    }
    #expect(world.life.isConnected && world.isTold == false)
    world.live(for: .seconds(1))
    #expect(world.life.isConnected && world.isTold == true && world.life.run.grant?.site?.name == "lyon")
  }

  @Test("no network begins no search, and a move that ends then does not either") func noNetworkDuringMove() throws {
    var world = try connected()
    var named = ClientWorld.grant
    named.mtu = 1_300
    world.push(named)
    world.take(.network(isThere: false))
    world.live(for: .seconds(600))
    guard case .some(.none) = world.life.link?.phase else { throw Failure.search }
    #expect(world.isTold == false && world.ends.isEmpty)
    world.take(.network(isThere: true))
    world.live(for: .seconds(1))
    #expect(world.life.isConnected && world.life.link?.settings.inForce.mtu == 1_300)
  }

  private enum Failure: Error { case noMove, search }
}
