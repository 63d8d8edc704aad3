package import KernelModel
import NetworkTypes
package import RoamwardCore

/// A kernel and a resolver file in memory, which apply steps as the real ones would.
package struct SimulatedState {
  package private(set) var observed = ObservedState(resolvConf: .file(SimulatedState.hostResolvConf))
  private var nextIndex: UInt32 = 100
  /// The links of WireGuard tunnels whose peers do not answer, whatever others do.
  private(set) var silentLinks: Set<String> = []

  package static let hostResolvConf = "search host.example\nnameserver 192.0.2.1\n"

  package init() {}

  package mutating func apply(_ steps: [Step]) { for step in steps { apply(step) } }

  /// Whether the peers of one WireGuard tunnel answer.
  package mutating func set(_ tunnel: String, answers: Bool) {
    let link = TunnelSetup.linkName(forTunnel: tunnel)
    if answers { silentLinks.remove(link) } else { silentLinks.insert(link) }
  }

  /// Sets the DNS backend and the file of the host.
  package mutating func keepResolver(_ resolver: ObservedResolver, file: ObservedResolvConf) {
    observed.resolver = resolver
    observed.resolvConf = file
  }

  /// Makes our own name server installed here.
  package mutating func installNameServer() { observed.resolver.facts.nameServer = .value(true) }

  mutating func show(_ providers: ProviderGroupState) { observed.providers = providers }

  package mutating func show(_ device: WireGuardState, on link: String) { observed.wireGuard[link] = device }

  /// Adds a peer's handshake to a device, as an answer would.
  package mutating func answer(on link: String, at seconds: Int64) {
    guard var device = observed.wireGuard[link] else { return }
    for i in device.peers.indices { device.peers[i].lastHandshake = seconds }
    observed.wireGuard[link] = device
  }

  /// As an engine: each prefix moves to the last peer that names it.
  package mutating func configure(_ link: String, _ device: WireGuardDevice, anew: Bool) {
    let before = anew ? [] : observed.wireGuard[link]?.peers ?? []
    var owners: [IPPrefix: WireGuardKey] = [:]
    for peer in device.peers { for prefix in peer.allowedIPs { owners[prefix] = peer.publicKey } }
    observed.wireGuard[link] = WireGuardState(
      engine: device.engine, publicKey: device.publicKey, listenPort: device.listenPort ?? 40_000, firewallMark: device.firewallMark,
      peers: device.peers.map { peer in
        WireGuardState.Peer(
          publicKey: peer.publicKey, presharedKey: peer.presharedKey, endpoint: peer.endpoint,
          allowedIPs: peer.allowedIPs.filter { owners[$0] == peer.publicKey }.uniqued(),
          persistentKeepalive: peer.persistentKeepalive, lastHandshake: before.first { $0.publicKey == peer.publicKey }?.lastHandshake ?? 0)
      })
  }

  private mutating func apply(_ step: Step) {
    switch step {
    case .addWireGuardLink(let name, let engine):
      if let index = InterfaceIndex(nextIndex) {
        observed.kernel.links.append(Link(index: index, name: name, kind: engine == .kernel ? "wireguard" : "tun", mtu: 1420))
      }
      nextIndex += 1
      observed.wireGuard[name] = WireGuardState(engine: engine)
    case .addTUNLink(let name, _):
      if let index = InterfaceIndex(nextIndex) { observed.kernel.links.append(Link(index: index, name: name, kind: "tun", mtu: 1500)) }
      nextIndex += 1
    case .addXFRMLink(let name, _):
      if let index = InterfaceIndex(nextIndex) { observed.kernel.links.append(Link(index: index, name: name, kind: "xfrm", mtu: 1500)) }
      nextIndex += 1
    case .addDummyLink(let name):
      if let index = InterfaceIndex(nextIndex) { observed.kernel.links.append(Link(index: index, name: name, kind: "dummy", mtu: 1500)) }
      nextIndex += 1
    case .setAlias(let link, let alias): change(link) { $0.alias = alias }
    case .configureWireGuard(let link, let device): configure(link, device, anew: false)
    case .renewSessions(let link, let device): configure(link, device, anew: true)
    case .setMTU(let link, let mtu, _): change(link) { $0.mtu = mtu }
    case .addAddress(let address, let link):
      // IPv6 has each address of a link once, whatever its length.
      let isPresent = observed.kernel.addresses.contains {
        $0.link == link && (address.address.family == .v6 ? $0.address.address == address.address : $0.address == address)
      }
      if !isPresent { observed.kernel.addresses.append(LinkAddress(link: link, address: address)) }
    case .removeAddress(let address, let link): observed.kernel.addresses.removeAll { $0.link == link && $0.address == address }
    case .setUp(let link): change(link) { $0.flags |= 0x1_0001 }
    case .deleteLink(let link, _):
      observed.kernel.links.removeAll { $0.name == link }
      observed.kernel.addresses.removeAll { $0.link == link }
      observed.kernel.routes.removeAll { $0.link == link }
      observed.wireGuard[link] = nil
      observed.resolver.links[link] = nil
    case .addRoute(let route): observed.kernel.routes.append(route)
    case .removeRoute(let route): observed.kernel.routes.removeAll { $0 == route }
    case .addRule(let rule): observed.kernel.rules.append(rule)
    case .removeRule(let rule): observed.kernel.rules.removeAll { $0 == rule }
    case .replaceFirewall(let table):
      let isGuarding = !table.guards.isEmpty || !table.programs.isEmpty
      observed.firewall = .table(digest: table.digest, isIntact: true, isGuarding: isGuarding)
    case .removeFirewall: observed.firewall = .absent
    case .writeResolvConf(let file): observed.resolvConf = .file(file.rendered)
    case .restoreResolvConf: observed.resolvConf = .file(Self.hostResolvConf)
    case .setLinkResolver(let resolver, let link): observed.resolver.links[link] = resolver
    case .revertLinkResolver(let link): observed.resolver.links[link] = nil
    case .setRecord(let record):
      observed.resolver.records[record.name] = record.content
      observed.resolver.effectiveServers = record.content.nameServers
    case .removeRecord(let name):
      observed.resolver.records[name] = nil
      observed.resolver.effectiveServers = []
    case .setNameServer(let settings): observed.resolver.nameServer = .running(settings)
    case .stopNameServer: observed.resolver.nameServer = .absent
    case .setNameCapture(let capture): observed.nameCapture = .table(digest: capture.digest, isIntact: true, isGuarding: false)
    case .removeNameCapture: observed.nameCapture = .absent
    case .setProxies(let publication): observed.proxies.publish(publication)
    case .removeProxies: observed.proxies.withdraw()
    }
  }

  /// Adds a link that another program has made.
  package mutating func add(_ link: Link) { observed.kernel.links.append(link) }

  /// Takes a link down, as another program would.
  package mutating func takeDown(_ link: String) { change(link) { $0.flags = 0 } }

  /// Ends the engine of a link, which stays for now.
  package mutating func endEngine(of link: String) { observed.wireGuard[link] = nil }

  private mutating func change(_ name: String, _ body: (inout Link) -> Void) {
    if let i = observed.kernel.links.firstIndex(where: { $0.name == name }) { body(&observed.kernel.links[i]) }
  }
}
