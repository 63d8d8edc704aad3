import KernelModel
import NetworkTypes
import RoamwardCore

/// Finds tunnels whose link would have the name of another link, and WireGuard peers that cannot respond.
func links(of tunnel: TunnelPolicy, ownAddresses: Set<IPAddress>) -> [LintFinding] {
  switch tunnel.provider {
  case .wireGuard(let provider):
    let name = TunnelSetup.linkName(forTunnel: tunnel.name)
    return takenName(name, of: tunnel, help: "call the tunnel something else; its link is named after it")
      + peers(of: tunnel, provider, ownAddresses: ownAddresses)
  case .installed:
    return takenName(
      TunnelSetup.linkName(forTunnel: tunnel.name), of: tunnel, help: "call the tunnel something else; its link is named after it")
  case .command(let command):
    return (command.interface.map { takenName($0, of: tunnel, help: "name the link that `up` makes") } ?? [])
      + unmarkedService(command, of: tunnel)
  case .service(let service):
    return service.interface.map { takenName($0, of: tunnel, help: "name the link that the unit makes") } ?? []
  }
}

/// Finds settings that cannot be applied, because the provider names no link.
func unappliedSettings(of tunnel: TunnelPolicy) -> [LintFinding] {
  guard tunnel.isApplicable else { return [] }
  let keys = [
    (tunnel.routes.map { !$0.include.isEmpty || !$0.exclude.isEmpty } ?? false, "routes"), (tunnel.dns != nil, "dns"),
    (tunnel.mtu != nil, "mtu"), (tunnel.proxy?.pac != nil, "pac"),
  ].filter(\.0).map { "`\($0.1)`" }
  guard !tunnel.isApplied, !keys.isEmpty else { return [] }
  return [
    LintFinding(
      .unappliedSettings, "\(keys.joined(separator: ", ")) of `\(tunnel.name)` cannot be applied: its provider names no link",
      help: "name the link that the program makes: `interface: NAME`", at: tunnel.location)
  ]
}

/// Finds one link, or one service, of two tunnels: what one of them does to it, it does to the other.
func sharedLinks(of tunnels: [TunnelPolicy]) -> [LintFinding] {
  var owners: [String: TunnelPolicy] = [:]
  return tunnels.flatMap { tunnel in
    tunnel.claims.compactMap { claim -> LintFinding? in
      guard let first = owners[claim] else {
        owners[claim] = tunnel
        return nil
      }
      return LintFinding(
        .sharedLink, "`\(tunnel.name)` and `\(first.name)` (\(first.location.short)) both have \(claim)",
        help: "leave it to one of them", at: tunnel.location, related: first.location)
    }
  }
}

extension TunnelPolicy {
  /// Whether the provider may name a link to which settings are applied.
  fileprivate var isApplicable: Bool {
    switch provider {
    case .command: true
    case .service(let service): if case .unit = service.service { true } else { false }
    case .wireGuard, .installed: false
    }
  }

  /// The claims that no other tunnel may have: its link, and its unit, profile or service.
  fileprivate var claims: [String] {
    let link = linkName.map { ["the link `\($0)`"] } ?? []
    guard case .service(let service) = provider else { return link }
    let claim =
      switch service.service {
      case .unit(let name): "the unit `\(name)`"
      case .profile(let name): "the profile `\(name)`"
      case .tailscale: "Tailscale"
      }
    return link + [claim]
  }
}

/// Programs that only ask a service to start a tunnel: its sockets are not in the tunnel's control group.
private func unmarkedService(_ command: CommandProviderConfiguration, of tunnel: TunnelPolicy) -> [LintFinding] {
  let isFull = tunnel.includesAllNetworks || tunnel.routes?.include.coverEverything ?? false
  guard isFull || tunnel.guarding != .off, let program = command.up.first?.split(separator: "/").last.map(String.init),
    ["systemctl", "service", "nmcli", "swanctl", "ipsec", "busctl", "tailscale", "mullvad"].contains(program)
  else { return [] }
  let what = tunnel.guarding == .off ? "go into the tunnel that they carry" : "are blocked by its kill switch"
  return [
    LintFinding(
      .unmarkedService, "`\(program)` has another service start `\(tunnel.name)`, so its own packets have no mark and \(what)",
      help: "start the program itself in `up`, use the provider `unit`, or have it set the mark 0x\(String(Ownership.mark, radix: 16))",
      at: tunnel.location)
  ]
}

private func takenName(_ name: String, of tunnel: TunnelPolicy, help: String) -> [LintFinding] {
  guard let whose = owner(ofLinkName: name) else { return [] }
  return [LintFinding(.takenLinkName, "the link of `\(tunnel.name)` would be called `\(name)`, \(whose)", help: help, at: tunnel.location)]
}

/// The usual owner of a link name, for `…, which is the loopback link`; `nil`: none.
private func owner(ofLinkName name: String) -> String? {
  switch name {
  case "lo": return "which is the loopback link of every machine"
  case "all", "default": return "which in /proc/sys/net stands for every link"
  // Created by kernel modules, in every namespace.
  case "tunl0", "sit0", "ip6tnl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "ip6gre0", "bonding_masters":
    return "which the kernel takes for itself"
  default: break
  }
  if isNumbered(name, ["eth", "wlan", "wwan", "usb", "bnep"]) { return "as the kernel calls network cards" }
  if isNumbered(name, ["docker", "virbr", "podman", "lxcbr", "lxdbr", "incusbr", "cni", "vmbr"]) {
    return "as a bridge of containers or virtual machines is"
  }
  if isNumbered(name, ["br", "bond", "team", "dummy", "ifb", "veth"]) { return "as bridges, bonds and links without hardware are" }
  // systemd.net-naming-scheme(7): medium, kind of location, location.
  let rest = ["en", "wl", "ww"].first(where: name.hasPrefix).map { name.dropFirst($0.count) }
  guard let rest, let kind = rest.first, "ospx".contains(kind), let next = rest.dropFirst().first else { return nil }
  return (kind == "x" ? next.isHexDigit : next.isNumber) ? "as udev calls network cards" : nil
}

/// Whether it is one of these words and a number.
private func isNumbered(_ name: String, _ stems: [String]) -> Bool {
  stems.contains { name.hasPrefix($0) && name.count > $0.count && name.dropFirst($0.count).allSatisfy(\.isNumber) }
}

private func peers(of tunnel: TunnelPolicy, _ provider: WireGuardProviderConfiguration, ownAddresses: Set<IPAddress>) -> [LintFinding] {
  guard let configuration = provider.configuration else { return [] }
  if configuration.peers.isEmpty {
    return [
      LintFinding(
        .noPeer, "`\(tunnel.name)` never connects: \(provider.path) has no [Peer]", help: "add the gateway's [Peer] to the file",
        at: tunnel.location)
    ]
  }
  let inside = Set(configuration.addresses.map(\.address))
  let relays = tunnel.relayTrouble.map { trouble in
    let parts = trouble.split(separator: "; cure: ", maxSplits: 1).map(String.init)
    return LintFinding(.relayedEndpoint, "`\(tunnel.name)`: \(parts[0])", help: parts.last ?? "", at: tunnel.location)
  }
  return [relays].compactMap { $0 }
    + configuration.peers.compactMap(\.endpoint).uniqued().compactMap { endpoint in
      guard let address = endpoint.address, !address.isLoopback else { return nil }
      let why =
        if address == .unspecified(address.family) {
          "no machine has that address"
        } else if address.isMulticast || address == IPAddress(v4: 0xffff_ffff) {
          "that address is not of one machine, but of many"
        } else if inside.contains(address) {
          "that is the tunnel's own address"
        } else if ownAddresses.contains(address) {
          "that is an address of this machine"
        } else {
          String?.none
        }
      return why.map {
        LintFinding(
          .unusableEndpoint, "the endpoint \(endpoint) of `\(tunnel.name)` cannot be its gateway: \($0)",
          help: "write the address at which the gateway is reached into \(provider.path)", at: tunnel.location)
      }
    }
}
