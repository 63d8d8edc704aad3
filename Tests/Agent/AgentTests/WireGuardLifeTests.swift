import KernelModel
import Lives
import NetworkTypes
import RoamwardCore
import SeededRandom
import TestKit
import Testing

@testable import AgentCore

/// The life of a WireGuard device in virtual time: random orders of events, and the orders that matter.
@Suite struct WireGuardLifeTests {
  static let home = network("Home", gateway: "192.168.0.1", servers: ["192.168.0.1"])
  static let cafe = network("Cafe", gateway: "198.51.100.1", servers: ["198.51.100.1"])

  static func network(_ name: String, gateway: String, servers: [String]?) -> LinkFacts {
    var link = Sample.wifi(name, gateway: gateway, address: "192.168.0.23/24")
    link.dnsServers = servers.map { .known($0.map(Sample.address)) } ?? .unknown(reason: "not known yet")
    return link
  }

  /// A life with the look-ups that are under way, as the rim carries them out.
  private struct Driven {
    var life: WireGuardLife
    var now = Moment(nanoseconds: 1_000_000_000)
    var lookups: [(attempt: LifeToken, peer: Int?)] = []
    var reports: [TunnelMachine.Event] = []
    var passes = 0
    var trouble: [String] = []

    init(_ endpoints: [String] = ["vpn.example.net:51820"]) {
      var configuration = Sample.wireGuard()
      configuration.peers = endpoints.enumerated().map {
        WireGuardPeer(publicKey: Sample.key(UInt8(10 + $0)), endpoint: Sample.endpoint($1), allowedIPs: [Sample.prefix("10.\($0).0.0/16")])
      }
      life = WireGuardLife(configuration, isInner: false)
    }

    mutating func send(_ event: WireGuardLife.Event) {
      let effects = life.handle(event, at: now)
      for (i, effect) in effects.enumerated() {
        switch effect {
        case .cancelLookups: lookups = []
        case .resolve(let attempt, let peer, _, _):
          if lookups.contains(where: { $0.attempt != attempt }) { trouble.append("two look-ups at once") }
          lookups.append((attempt, peer))
        case .resolvePrefix(let attempt, _, _): lookups.append((attempt, nil))
        case .report(let event):
          reports.append(event)
          if effects.dropFirst(i + 1).contains(where: { $0 != .changed }) { trouble.append("a report before \(effects.dropFirst(i + 1))") }
        case .changed: passes += 1
        }
      }
    }

    mutating func start(on underlay: LinkFacts? = home) { send(.prepare(.engine(.kernel), nil, on: underlay)) }
    mutating func arm(on underlay: LinkFacts? = home) { send(.arm(.engine(.kernel), nil, on: underlay)) }

    /// The first look-up under way ends.
    mutating func answer(_ addresses: String...) { answer(.addresses(addresses.map(Sample.address))) }

    mutating func answer(_ resolution: Resolution) {
      guard !lookups.isEmpty else { return trouble.append("an answer without a look-up") }
      let (attempt, peer) = lookups.removeFirst()
      send(peer.map { .resolved(attempt, peer: $0, resolution) } ?? .prefixResolved(attempt, resolution))
    }

    var endpoints: [String] { life.endpoints.map { "\($0.address):\($0.port)" } }

    static let answered = WireGuardState(
      engine: .kernel, publicKey: Sample.key(2), peers: [WireGuardState.Peer(publicKey: Sample.key(10), lastHandshake: 1)])
  }

  @Test("in random orders of events, one look-up is under way, a start has one end, and nothing follows the release")
  func random() {
    let networks: [LinkFacts?] = [Self.home, Self.cafe, nil]
    let resolutions: [Resolution] = [
      .addresses([Sample.address("203.0.113.1")]), .addresses([Sample.address("203.0.113.2"), Sample.address("2001:db8::2")]),
      .addresses([]), .missing(reason: "NXDOMAIN"), .failed(reason: "SERVFAIL"),
    ]
    for seed in UInt64(1)...2000 {
      var random = SplitMix64(seed: seed)
      var driven = Driven(seed.isMultiple(of: 2) ? ["a.example.net:1", "203.0.113.9:2", "b.example.net:3"] : ["vpn.example.net:51820"])
      var old: [LifeToken] = []
      for _ in 0..<60 {
        driven.now = driven.now + .milliseconds(Int.random(in: 1...3000, using: &random))
        let underlay = networks.randomElement(using: &random) ?? nil
        let (reports, isDown, was) = (driven.reports.count, driven.life.isDown, driven.lookups.first?.attempt)
        switch Int.random(in: 0..<14, using: &random) {
        case 0 where isDown: driven.start(on: underlay)
        case 1 where isDown: driven.arm(on: underlay)
        case 2: driven.send(.rearm(on: underlay))
        case 3: if driven.life.hasUnknownEndpoint { driven.start(on: underlay) } else { driven.send(.open(on: underlay)) }
        case 4: driven.send(.reassert(on: underlay))
        case 5: driven.send(.renewSessions(on: underlay))
        case 6: driven.send(.probePeer(on: underlay))
        case 7: driven.send(.learn(underlay))
        case 8: driven.send(.sessionsBegan)
        case 9: driven.send(.askAgain(Bool.random(using: &random) ? Driven.answered : nil))
        case 10: driven.send(.advance)
        case 11 where Int.random(in: 0..<4, using: &random) == 0:
          driven.send(.tearDown)
          #expect(driven.life.isDown && driven.lookups.isEmpty && driven.life.device == nil && !driven.life.wantsNewSessions)
        case 12: if let attempt = old.randomElement(using: &random) { driven.send(.resolved(attempt, peer: 0, resolutions[0])) }
        default: if !driven.lookups.isEmpty { driven.answer(resolutions.randomElement(using: &random) ?? resolutions[0]) }
        }
        if let was, driven.lookups.first?.attempt != was { old.append(was) }
        // A failed start is down by itself; what has failed on the way to another network waits for the machine's release.
        let new = driven.reports.dropFirst(reports)
        #expect(new.count <= 1 && driven.trouble.isEmpty, "seed \(seed): \(driven.trouble)")
        if new.contains(.prepared) { #expect(driven.life.device != nil, "seed \(seed)") }
        if driven.life.isDown { #expect(driven.lookups.isEmpty && driven.life.nextDeadline == nil, "seed \(seed)") }
        if case .starting = driven.life.phase { #expect(!driven.lookups.isEmpty, "seed \(seed): a start waits for nothing") }
        #expect(!driven.life.wantsNewSessions || !driven.life.isAnswered(by: Driven.answered), "seed \(seed)")
      }
      driven.send(.tearDown)
      let (reports, passes) = (driven.reports.count, driven.passes)
      for attempt in old { driven.send(.resolved(attempt, peer: 0, resolutions[0])) }
      driven.send(.advance)
      driven.send(.renewSessions(on: Self.cafe))
      #expect(driven.reports.count == reports && driven.passes == passes && driven.lookups.isEmpty, "seed \(seed)")
    }
  }

  @Test("a start resolves the name, and reports once; an address needs no look-up and no other pass") func start() {
    var named = Driven()
    named.start()
    #expect(named.reports == [] && named.life.device == nil)
    named.answer("203.0.113.1")
    #expect(named.reports == [.prepared] && named.passes == 1 && named.endpoints == ["203.0.113.1:51820"])

    var plain = Driven(["203.0.113.9:51820"])
    plain.start()
    #expect(plain.reports == [.prepared] && plain.passes == 0 && plain.lookups.isEmpty)

    var unknown = Driven()
    unknown.start()
    unknown.answer(.missing(reason: "it does not exist"))
    #expect(
      unknown.reports == [.failed(TunnelFailure(.nameUnknown, "the endpoint vpn.example.net cannot be resolved: it does not exist"))])
    #expect(unknown.life.isDown)
  }

  @Test("a taken port fails the start of a tunnel whose peers begin the sessions, and another port serves the others") func ports() {
    let holder = PortHolder(port: 51820, holder: "dnsmasq")
    var other = Driven(["203.0.113.9:51820"])
    other.send(.prepare(.engine(.kernel), holder, on: Self.home))
    #expect(other.reports == [.prepared] && other.life.portHolder == holder && other.life.device?.listenPort == nil)
    var configuration = Sample.wireGuard()
    configuration.listenPort = 51820
    configuration.peers[0].endpoint = nil
    var server = WireGuardLife(configuration, isInner: false)
    let effects = server.handle(.prepare(.engine(.kernel), holder, on: Self.home), at: other.now)
    guard case .report(.failed(let failure))? = effects.last else { return #expect(Bool(false), "\(effects)") }
    #expect(failure.code == .portTaken && server.portHolder == nil)
  }

  @Test("on another network a handshake counts only after the look-up and after new sessions have begun") func roams() {
    var driven = Driven()
    driven.start()
    driven.answer("203.0.113.1")
    #expect(driven.life.isAnswered(by: Driven.answered))
    driven.send(.reassert(on: Self.cafe))
    #expect(!driven.life.isAnswered(by: Driven.answered) && driven.endpoints == [] && !driven.life.wantsNewSessions)
    // The machine returns before the answer: the look-up is made again, of this network.
    driven.send(.reassert(on: Self.home))
    driven.answer("203.0.113.2")
    #expect(driven.endpoints == ["203.0.113.2:51820"] && driven.life.wantsNewSessions && !driven.life.isAnswered(by: Driven.answered))
    driven.send(.sessionsBegan)
    #expect(driven.life.isAnswered(by: Driven.answered))
  }

  @Test("unanswered sessions begin again after 1, 2, 4 and again 1 s, and never after an answer") func repeats() {
    var driven = Driven(["203.0.113.9:51820"])
    driven.start()
    driven.send(.renewSessions(on: Self.home))
    for pause in [1, 2, 4, 1] {
      driven.send(.sessionsBegan)
      driven.now = driven.now + .milliseconds(pause * 1000 - 1)
      driven.send(.askAgain(nil))
      #expect(!driven.life.wantsNewSessions)
      driven.now = driven.now + .milliseconds(1)
      driven.send(.askAgain(nil))
      #expect(driven.life.wantsNewSessions, "after \(pause) s")
    }
    driven.send(.sessionsBegan)
    driven.now = driven.now + .seconds(60)
    driven.send(.askAgain(Driven.answered))
    #expect(!driven.life.wantsNewSessions)
    driven.send(.recordAnswer(true))
    #expect(!driven.life.isRepeatDue(at: driven.now))
  }

  @Test("a name without an answer keeps its address, and is resolved again eight times, ever later") func staleNames() {
    var driven = Driven()
    driven.start()
    driven.answer("203.0.113.1")
    driven.send(.tearDown)
    driven.start(on: Self.cafe)
    driven.answer(.failed(reason: "SERVFAIL"))
    #expect(driven.reports == [.prepared, .prepared] && driven.endpoints == ["203.0.113.1:51820"])
    var pauses: [Int64] = []
    while let due = driven.life.nextDeadline, pauses.count < 20 {
      pauses.append((due - driven.now).milliseconds / 1000)
      driven.now = due
      driven.send(.advance)
      driven.answer(.failed(reason: "SERVFAIL"))
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60])
    #expect(!driven.life.wantsNewSessions && driven.reports.count == 2 && driven.trouble.isEmpty)
  }

  @Test("name servers that become known later resolve the names again; the first ones of a network do not") func servers() {
    var driven = Driven()
    driven.start(on: Self.network("Home", gateway: "192.168.0.1", servers: nil))
    driven.answer("203.0.113.1")
    driven.send(.learn(Self.home))
    #expect(driven.lookups.isEmpty)
    driven.send(.learn(Self.network("Home", gateway: "192.168.0.1", servers: ["192.168.0.2"])))
    #expect(driven.lookups.count == 1)
    driven.answer("203.0.113.2")
    #expect(driven.endpoints == ["203.0.113.2:51820"] && driven.life.wantsNewSessions)
  }

  @Test("an armed tunnel starts without an address, and its look-up fails nothing; another address ends its sessions") func armed() {
    var driven = Driven()
    driven.arm()
    #expect(driven.reports == [.prepared] && driven.life.hasUnknownEndpoint)
    driven.answer(.failed(reason: "SERVFAIL"))
    #expect(driven.reports == [.prepared] && driven.life.hasUnknownEndpoint && driven.passes == 0)
    driven.send(.packetsCame(on: Self.home))
    driven.answer("203.0.113.1")
    #expect(driven.endpoints == ["203.0.113.1:51820"] && driven.life.wantsNewSessions && driven.passes == 1)
    #expect(!driven.life.isRepeatDue(at: driven.now + .seconds(60)), "no peer is asked")
    driven.send(.sessionsBegan)
    driven.send(.rearm(on: Self.cafe))
    #expect(driven.life.wantsNewSessions && driven.lookups.count == 1)
  }

  @Test("sessions of a device without an address begin with the look-up, whose failure is one of the start") func opens() {
    for isFound in [true, false] {
      var driven = Driven()
      driven.arm(on: nil)
      driven.start()
      #expect(driven.life.device != nil && driven.endpoints == [] && !driven.life.isAnswered(by: Driven.answered))
      driven.send(.learn(Self.home))
      if isFound {
        driven.answer("203.0.113.1")
        #expect(driven.reports == [.prepared, .prepared] && driven.life.wantsNewSessions && driven.endpoints.count == 1)
      } else {
        driven.answer(.failed(reason: "SERVFAIL"))
        #expect(driven.reports.count == 2 && driven.reports.last != .prepared)
        driven.send(.tearDown)
        #expect(driven.life.isDown)
      }
    }
  }

  @Test("a network of IPv6 alone translates an IPv4 endpoint, unless its packets go through another tunnel") func translation() {
    let network = Self.network("Six", gateway: "fe80::1", servers: ["2001:db8::53"])
    var driven = Driven(["203.0.113.9:51820"])
    driven.start(on: network)
    #expect(driven.reports == [])
    driven.answer("64:ff9b::c000:aa")
    #expect(driven.reports == [.prepared] && driven.endpoints == ["64:ff9b::cb00:7109:51820"])
    driven.life = WireGuardLife(Sample.wireGuard(), isInner: true)
    driven.start(on: network)
    #expect(driven.reports == [.prepared, .prepared] && driven.endpoints == ["203.0.113.10:51820"])
  }

  @Test("a device that another agent has left is taken over with its endpoints, if the key is the same") func takeOver() {
    var driven = Driven()
    var found = Driven.answered
    found.peers[0].endpoint = Sample.endpoint("203.0.113.7:51820")
    let isTaken = driven.life.takeOver(found, on: Self.home)
    #expect(isTaken && driven.endpoints == ["203.0.113.7:51820"])
    found.publicKey = Sample.key(9)
    var other = Driven()
    let isOtherTaken = other.life.takeOver(found, on: Self.home)
    #expect(!isOtherTaken && other.life.isDown)
  }
}

extension WireGuardLife {
  fileprivate var isDown: Bool { if case .down = phase { true } else { false } }
}
