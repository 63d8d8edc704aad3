import KernelModel
import NetworkTypes

extension DesiredState {
  /// Leads every DNS question of this host to our own name server while the names of a tunnel with `names: capture` are resolved inside of
  /// it, refused, or start it. `up`: the tunnels with routes, in the order in which they win conflicts; `down`: the others.
  mutating func captureNames(of up: [TunnelSetup], down: [TunnelSetup], on underlay: UnderlayFit) {
    let capturing = up.filter(\.capturesNames) + down.filter { $0.capturesNames && ($0.refusesNames || $0.watch != nil) }
    if capturing.isEmpty { return }
    if let reason = underlay.resolver.reasonNotToCapture {
      // For these seconds, questions fail rather than leave.
      keepsNameCapture = underlay.resolver.isNameServerReturning
      notes += capturing.map { tunnel in
        Remark(
          .dnsLimited, of: tunnel.policy.name,
          "`names: capture` is not possible, so programs with name servers of their own ask those for its names: \(reason)")
      }
      return
    }
    var settings = settingsForCapture(of: up, down: down, on: underlay)
    settings.capture = NameCapture(
      guests: underlay.guests, tunnelLinks: (up.compactMap(\.link) + underlay.others.all.flatMap(\.links)).uniqued().sorted(),
      marks: underlay.others.all.compactMap(\.mark).uniqued().sorted())
    nameServer = settings
    if case .table(var table) = firewall {
      table.capture = settings.capture
      firewall = .table(table)
    }
  }

  /// The settings of our name server. Where the system's resolver does not lead to it, they are those that it has on other hosts, beside
  /// the names whose look-ups start a tunnel.
  private func settingsForCapture(of up: [TunnelSetup], down: [TunnelSetup], on underlay: UnderlayFit) -> NameServerSettings {
    if let nameServer, leadsToNameServer { return nameServer }
    var other = DesiredState()
    other.applyNameServer(of: up.filter { !$0.dns.servers.isEmpty }, on: underlay)
    let refused = down.filter(\.refusesNames).sorted { $0.policy.name < $1.policy.name }.flatMap(\.policy.dnsInForce.ownDomains)
    other.refuseNames(in: refused.uniqued(), on: underlay)
    let shared = other.nameServer ?? NameServerSettings(of: underlay)
    guard var settings = nameServer else { return shared }
    settings.shares = shared.shares
    settings.blocked = shared.blocked
    settings.rebindAllowed = shared.rebindAllowed
    return settings
  }
}

extension TunnelSetup {
  /// Whether questions to other name servers are captured while it is up.
  var capturesNames: Bool { policy.isEnabled && dns.names == .capture && !dns.servers.isEmpty }
}
