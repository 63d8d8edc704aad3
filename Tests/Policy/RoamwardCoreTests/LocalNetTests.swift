import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// A network attaches the machine to a prefix of its choice (TunnelCrack's LocalNet): the table of docs/security-kill-switch.md by rows.
@Suite("A prefix that the network attaches the machine to") struct LocalNetTests {
  enum Include: String, CaseIterable, Sendable {
    case named = "[10.77.0.0/16, fd77::/48]"
    case everything = "[default]"
    case allNetworks = "include-all-networks"
  }

  enum Guarding: String, CaseIterable, Sendable { case off, on, always, enforce }

  /// Addresses that the network gives this machine, and a host in the same prefix.
  static let attached = [
    ("10.77.5.99/24", "10.77.5.2"), ("10.77.0.99/16", "10.77.0.2"), ("10.1.2.3/8", "10.77.0.2"), ("fd77::99/64", "fd77::2"),
    ("198.51.100.9/24", "198.51.100.2"),
  ]

  private func tunnel(_ include: Include, _ guarding: Guarding, lan: LANPolicy? = nil, overlap: OverlapPolicy = .preferTunnel)
    -> TunnelPolicy
  {
    let prefixes: PrefixList =
      include == .named ? PrefixList(["10.77.0.0/16", "fd77::/48"].map(Sample.prefix)) : [.everything(.v4), .everything(.v6)]
    var tunnel = Sample.tunnel(
      rules: [], wireGuard: Sample.wireGuard(allowed: ["0.0.0.0/0", "::/0"], addresses: ["10.77.9.2/32", "fd77:0:0:9::2/128"]),
      routes: RoutePolicy(include: prefixes, lan: lan, onOverlap: overlap, isEnforced: guarding == .enforce))
    tunnel.killSwitch = guarding == .on ? .on : guarding == .always ? .always : .off
    tunnel.includesAllNetworks = include == .allNetworks
    return tunnel
  }

  private func setup(_ tunnel: TunnelPolicy, isUp: Bool = true) -> TunnelSetup {
    TunnelSetup(
      policy: tunnel, level: isUp ? .full : .nothing, slot: 500, link: "corp", device: .foreign, isGuarding: tunnel.guarding != .off)
  }

  private func underlay(_ address: String) -> UnderlayFit {
    UnderlayFit(Sample.network(Sample.wifi("Cafe", gateway: "192.0.2.1", address: address)))
  }

  private func fate(_ tunnel: TunnelPolicy, _ address: String, of destination: String, isUp: Bool = true) -> PacketFate {
    DesiredState(of: [setup(tunnel, isUp: isUp)], on: underlay(address)).fate(of: Sample.address(destination))
  }

  /// Outside is only a credible local network, under a tunnel for everything whose policy does not name it (docs/security-kill-switch.md).
  private func isLAN(_ include: Include, _ address: String) -> Bool {
    include == .everything && ["10.77.5.99/24", "10.77.0.99/16", "fd77::99/64"].contains(address)
  }

  @Test("pulls out of a tunnel that is up what the docs say, and nothing else", arguments: Include.allCases, Guarding.allCases)
  func up(include: Include, guarding: Guarding) {
    for (address, destination) in Self.attached where include != .named || !destination.hasPrefix("198") {
      let isInside = if case .inside("corp", _) = fate(tunnel(include, guarding), address, of: destination) { true } else { false }
      #expect(isInside == !isLAN(include, address), "\(address)")
    }
  }

  @Test("pulls nothing past a kill switch while the tunnel is down", arguments: Include.allCases, [Guarding.on, .always])
  func down(include: Include, guarding: Guarding) {
    for (address, destination) in Self.attached where include != .named || !destination.hasPrefix("198") {
      let isBlocked = fate(tunnel(include, guarding), address, of: destination, isUp: false) == .blocked(by: ["corp"])
      #expect(isBlocked == !isLAN(include, address), "\(address)")
    }
  }

  @Test("routes and firewall agree on what stays outside, whatever the policy says of it", arguments: Include.allCases, Guarding.allCases)
  func agreement(include: Include, guarding: Guarding) {
    for lan in [nil, .allow, .block] as [LANPolicy?] {
      for overlap in OverlapPolicy.allCases {
        for (address, destination) in Self.attached where include != .named || !destination.hasPrefix("198") {
          let policy = tunnel(include, guarding, lan: lan, overlap: overlap)
          guard policy.guarding != .off else { continue }
          let outside = setup(policy).outsidePrefixes(on: underlay(address)).contains { $0.prefix.contains(Sample.address(destination)) }
          #expect((fate(policy, address, of: destination, isUp: false) == .outside) == outside, "\(address) \(lan as Any) \(overlap)")
          // A named prefix is never LAN under a kill switch.
          #expect(include != .named || !outside)
        }
      }
    }
  }

  @Test("what a policy names beside everything is not the local network either, nor is what holds it") func namedBesideEverything() {
    for guarding in Guarding.allCases {
      var policy = tunnel(.everything, guarding)
      policy.routes?.include += [Sample.prefix("10.77.5.0/24")]
      let isInside = { (address: String, destination: String) in
        if case .inside = self.fate(policy, address, of: destination) { true } else { false }
      }
      #expect(isInside("10.77.5.99/24", "10.77.5.2") && isInside("10.77.0.99/16", "10.77.5.2") && isInside("10.77.5.130/25", "10.77.5.132"))
      #expect(fate(policy, "192.168.7.20/24", of: "192.168.7.1") == .outside)
    }
  }

  @Test("prefer-local gives way to the network only where it is said, and neither under a kill switch nor under enforce")
  func preferLocal() {
    func outside(_ guarding: Guarding, _ address: String, lan: LANPolicy? = nil) -> [String] {
      setup(tunnel(.named, guarding, lan: lan, overlap: .preferLocal)).outsidePrefixes(on: underlay(address)).map(\.description)
    }
    let words = "stays outside, because this machine is attached to it, and on-overlap is prefer-local"
    #expect(outside(.off, "10.77.5.99/24") == ["10.77.5.0/24 \(words)"])
    #expect(outside(.off, "10.77.0.99/16", lan: .block) == ["10.77.0.0/16 \(words)"])
    #expect(outside(.off, "10.77.5.99/24", lan: .block) == [])
    for guarding in [Guarding.on, .always, .enforce] { #expect(outside(guarding, "10.77.5.99/24") == []) }
  }

  @Test("include-all-networks leaves neighbours outside only where the policy says so") func allNetworks() {
    let home = "192.168.7.20/24"
    #expect(fate(tunnel(.allNetworks, .off), home, of: "192.168.7.1") == .inside(link: "corp", by: .everything(.v4)))
    #expect(fate(tunnel(.allNetworks, .off, lan: .allow), home, of: "192.168.7.1") == .outside)
    var named = tunnel(.allNetworks, .off)
    named.routes?.lanNetworks = ["home"]
    #expect(fate(named, home, of: "192.168.7.1") == .inside(link: "corp", by: .everything(.v4)))
    var atHome = setup(named)
    atHome.isOnLANNetwork = true
    #expect(DesiredState(of: [atHome], on: underlay(home)).fate(of: Sample.address("192.168.7.1")) == .outside)
  }

  @Test("a network of this machine alone is nobody's claim: containers are reached though the company has their numbers") func containers()
  {
    var bridge = Sample.wifi(address: "10.77.5.1/24")
    (bridge.name, bridge.type, bridge.gateways) = ("docker0", .known(.bridge), [])
    let cafe = Sample.wifi("Cafe", address: "192.168.9.23/24")
    let fit = UnderlayFit(NetworkSnapshot(primary: "wlan0", links: [cafe, bridge]))
    for guarding in Guarding.allCases {
      let state = DesiredState(of: [setup(tunnel(.named, guarding))], on: fit)
      #expect(state.fate(of: Sample.address("10.77.5.2")) == .outside)
      #expect(state.fate(of: Sample.address("10.77.6.2")) == .inside(link: "corp", by: Sample.prefix("10.77.0.0/16")))
    }
    // The café hands out the same numbers: then they may be its own.
    let twin = UnderlayFit(NetworkSnapshot(primary: "wlan0", links: [Sample.wifi("Cafe", address: "10.77.5.23/24"), bridge]))
    let state = DesiredState(of: [setup(tunnel(.named, .on))], on: twin)
    #expect(state.fate(of: Sample.address("10.77.5.2")) == .inside(link: "corp", by: Sample.prefix("10.77.0.0/16")))
  }
}
