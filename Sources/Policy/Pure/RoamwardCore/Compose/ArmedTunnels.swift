import KernelModel
import NetworkTypes

/// The consequences of an armed tunnel, for people: what brings it up, and what cannot be reached until its gateway answers.
func armedRemarks(of tunnel: TunnelSetup, on underlay: UnderlayFit) -> [Remark] {
  let name = tunnel.policy.name
  if let apps = tunnel.policy.apps, tunnel.policy.isForApps {
    let programs = apps.include.map(\.description).joined(separator: ", ")
    return [
      Remark(
        .armed, of: name,
        "armed: comes up at the first packet of \(programs), which reach no address until its gateway answers (captive portal, no network)")
    ]
  }
  let prefixes = tunnel.includedPrefixes.map(\.description).joined(separator: ", ")
  let domains = tunnel.dns.ownDomains.map(\.text).joined(separator: ", ")
  let names = underlay.resolver.splits && underlay.resolver.obstacle == nil ? domains : ""
  let what = names.isEmpty ? prefixes : "\(prefixes) and names in \(names)"
  var remarks = [
    Remark(
      .armed, of: name,
      "armed: comes up at the first packet; until its gateway answers, \(what) are unreachable, not outside"
        + " (captive portal, no network)")
  ]
  let taken = underlay.attachedPrefixes.filter { tunnel.stay(of: $0, on: underlay).map { !$0.isOutside } ?? false }
  remarks += taken.map { prefix in
    Remark(
      .armed, of: name,
      "this machine is attached to \(prefix), which goes into the tunnel: packets to its neighbours bring the tunnel up;"
        + " cure: `on-overlap: prefer-local`")
  }
  return remarks
}

extension DesiredState {
  /// The tunnels whose name servers this DNS backend applies. Without split DNS those of an armed tunnel would get every query of this
  /// machine, and no name would be resolved while its gateway is unreachable.
  mutating func takingNames(_ tunnels: [TunnelSetup], by choice: ResolverChoice) -> [TunnelSetup] {
    if choice.splits { return tunnels }
    for tunnel in tunnels where tunnel.level == .armed {
      notes.append(
        Remark(
          .dnsLimited, of: tunnel.policy.name,
          "no look-up brings it up while it is armed, because \(choice.backend) has no split DNS; packets to its prefixes do;"
            + " cure: apt install systemd-resolved"))
    }
    return tunnels.filter { $0.level != .armed }
  }
}
