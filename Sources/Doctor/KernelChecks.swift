import KernelModel
import NetworkTypes
import RoamwardCore

extension HostCheck {
  /// In the order in which they are told.
  package static let all: [HostCheck] = kernelChecks + neighbourChecks + installationChecks + tunnelChecks

  /// What tunnels need of the kernel.
  private static let kernelChecks = [
    HostCheck("wireguard", "WireGuard tunnels can run") { host, policies in
      let names = policies.enabled.filter { if case .wireGuard = $0.provider { true } else { false } }.map(\.name)
      guard !names.isEmpty, let reason = host.kernel.wireGuardAbsence else { return [] }
      return [HostFinding("wireguard", .problem, "\(list(names)) cannot be brought up: \(reason)")]
    },
    HostCheck("tun", "userspace tunnels get their device") { host, policies in
      let names = policies.enabled.filter { if case .wireGuard = $0.provider { true } else { false } }.map(\.name)
      guard !names.isEmpty, host.kernel.isWireGuardUserspace, let reason = host.kernel.tunAbsence else { return [] }
      return [
        HostFinding(
          "tun", .problem, "\(list(names)) cannot be brought up: /dev/net/tun: \(reason)",
          cure: "modprobe tun; in a container, pass the device on (DeviceAllow=/dev/net/tun rw, or --device /dev/net/tun)")
      ]
    },
    HostCheck("engine-user", "the WireGuard engine has a user of its own") { host, policies in
      let isUsed = policies.enabled.contains { if case .wireGuard = $0.provider { true } else { false } }
      guard isUsed, host.isRoot, host.kernel.isWireGuardUserspace, !host.kernel.hasEngineUser else { return [] }
      return [
        HostFinding(
          "engine-user", .risk,
          "there is no user roamward-wireguard: the WireGuard engine runs confined, but as nobody, and other programs of nobody's can end it",
          cure: "systemd-sysusers, where `make install` has put sysusers.d/roamward.conf")
      ]
    },
    HostCheck("probe-helper", "names can be looked up and probes sent") { host, policies in
      guard policies.asksTheNetwork, let reason = host.kernel.probeAbsence else { return [] }
      return [
        HostFinding(
          "probe-helper", .problem, "no name of a gateway is looked up and no probe is sent: \(reason)",
          cure: "install roamward-probe in the folder of roamwardd; it needs a kernel with seccomp (CONFIG_SECCOMP_FILTER)")
      ]
    },
    HostCheck("nftables", "the firewall can hold traffic back") { host, policies in
      let names = policies.enabled.filter { $0.guarding != .off }.map(\.name)
      guard !names.isEmpty, let reason = host.kernel.nftablesAbsence else { return [] }
      return [
        HostFinding(
          "nftables", .problem, "the kill switch of \(list(names)) holds nothing back: \(reason)",
          cure: "modprobe nf_tables, or a kernel with CONFIG_NF_TABLES and CONFIG_NF_TABLES_INET")
      ]
    },
    HostCheck("ipv6", "IPv6 is there for the tunnels that bring it") { host, policies in
      guard host.kernel.isIPv6Disabled else { return [] }
      let names = policies.enabled.filter { tunnel in
        guard case .wireGuard(let provider) = tunnel.provider else { return false }
        return provider.configuration.addresses.contains { $0.address.family == .v6 }
      }.map(\.name)
      guard !names.isEmpty else { return [] }
      return [
        HostFinding(
          "ipv6", .problem, "\(list(names)): the tunnel has an IPv6 address, and IPv6 is switched off on this host",
          cure: "sysctl net.ipv6.conf.all.disable_ipv6=0, or take the address out of the tunnel's configuration")
      ]
    },
    HostCheck("rp-filter", "return paths are not checked strictly") { host, policies in
      let names = policies.enabled.filter(\.takesEverything).map(\.name)
      guard !names.isEmpty, !host.kernel.strictLinks.isEmpty else { return [] }
      let links = host.kernel.strictLinks
      return [
        HostFinding(
          "rp-filter", .risk,
          "\(list(names)): on \(list(links)) the kernel drops answers that come by another way than it would take itself (rp_filter is 1), "
            + "so all that goes to the gateway's address stays outside the tunnel",
          cure: "sysctl \(links.map { "net.ipv4.conf.\($0).rp_filter=2" }.joined(separator: " ")), and the same in /etc/sysctl.d")
      ]
    },
  ]
}

extension PolicySet {
  /// Tunnels that may come up.
  var enabled: [TunnelPolicy] { tunnels.filter(\.isEnabled) }
}

extension TunnelPolicy {
  /// Whether all traffic of some family is meant for it.
  var takesEverything: Bool {
    if includesAllNetworks { return true }
    if let routes { return routes.include.contains { $0.length == 0 } }
    guard case .wireGuard(let provider) = provider else { return false }
    return provider.configuration.peers.contains { peer in peer.allowedIPs.contains { $0.length == 0 } }
  }
}

/// `a`, `a and b`, `a, b and c`.
func list(_ names: [String]) -> String {
  guard let last = names.last, names.count > 1 else { return names.first ?? "" }
  return names.dropLast().joined(separator: ", ") + " and " + last
}
