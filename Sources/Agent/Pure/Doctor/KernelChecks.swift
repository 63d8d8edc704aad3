internal import HostFindings
import KernelModel
import NetworkTypes
import RoamwardCore

extension HostCheck {
  /// All checks, in the order of the output.
  package static let all: [HostCheck] = kernelChecks + neighbourChecks + nameChecks + namedRouteChecks + installationChecks + tunnelChecks

  /// The names of the checks that look into the files that tunnels' providers name.
  package static let ofTunnelFiles: Set = [
    "ipv6", "rp-filter", "same-tunnel", "resolv-conf", "containers", "own-servers", "browsers", "not-acted-on", "mark", "probe-helper",
  ]

  /// The names of the checks that look at policies.
  package static let ofPolicies = Set(all.map(\.name)).subtracting(ofHost)

  private static let ofHost: Set = ["guards", "agent"]

  /// Checks of the kernel's features for tunnels.
  private static let kernelChecks = [
    HostCheck("wireguard", "WireGuard tunnels can run") { host, policies in
      let names = policies.enabled.filter(\.hasWireGuard).map(\.name)
      guard !names.isEmpty, let reason = host.kernel.wireGuardAbsence else { return [] }
      return [HostFinding("wireguard", .problem, "\(list(names)) cannot be brought up: \(reason)")]
    },
    HostCheck("tun", "userspace tunnels can open /dev/net/tun") { host, policies in
      let names = policies.enabled.filter(\.hasWireGuard).map(\.name)
      guard !names.isEmpty, host.kernel.isWireGuardUserspace, let reason = host.kernel.tunAbsence else { return [] }
      return [
        HostFinding(
          "tun", .problem, "\(list(names)) cannot be brought up: /dev/net/tun: \(reason)",
          cure: "modprobe tun; in a container, pass the device on (DeviceAllow=/dev/net/tun rw, or --device /dev/net/tun)")
      ]
    },
    HostCheck("engine-user", "each process that reads data of unknown hosts has a user of its own") { host, policies in
      let hasWireGuard = policies.enabled.contains(where: \.hasWireGuard)
      let asksNames = policies.enabled.contains { $0.mayWatch || $0.dns?.names == .capture }
      let publishes = policies.tunnels.contains(where: \.publishesProxies)
      let used = [
        (KernelCondition.engineUser, hasWireGuard && host.kernel.isWireGuardUserspace), (KernelCondition.namesUser, asksNames),
        (KernelCondition.probeUser, policies.asksTheNetwork), (KernelCondition.proxyUser, publishes),
      ]
      return used.filter { $1 && host.kernel.missingUsers.contains($0) }.map { user, _ in
        HostFinding(
          "engine-user", .risk, "user \(user) does not exist: \(user) runs as nobody, whose other programs can kill it",
          cure: "run systemd-sysusers after `make install`, which installs sysusers.d/roamward.conf")
      }
    },
    HostCheck("probe-helper", "names can be resolved and probes sent") { host, policies in
      guard policies.asksTheNetwork, let reason = host.kernel.probeAbsence else { return [] }
      return [
        HostFinding(
          "probe-helper", .problem, "gateway names cannot be resolved and probes cannot be sent: \(reason)",
          cure: "install roamward-probe in the folder of roamwardd; it needs a kernel with seccomp (CONFIG_SECCOMP_FILTER)")
      ]
    },
    HostCheck("nftables", "the kill switch can block traffic") { host, policies in
      let names = policies.enabled.filter { $0.guarding != .off || $0.isForApps }.map(\.name)
      guard !names.isEmpty, let reason = host.kernel.nftablesAbsence else { return [] }
      return [
        HostFinding(
          "nftables", .problem, "the kill switch of \(list(names)) cannot block traffic: \(reason)",
          cure: "modprobe nf_tables, or use a kernel with CONFIG_NF_TABLES and CONFIG_NF_TABLES_INET")
      ]
    },
    HostCheck("mark", "the programs of command tunnels can be marked") { host, policies in
      guard let reason = host.kernel.markAbsence else { return [] }
      let tunnels = policies.enabled.filter(\.provider.opensOwnSockets)
      let guarded = tunnels.filter { $0.guarding != .off }.map(\.name)
      let full = tunnels.filter { $0.guarding == .off && $0.takesEverything }.map(\.name)
      let naming = policies.enabled.filter { $0.apps != nil }.map(\.name)
      var findings: [HostFinding] = []
      if !naming.isEmpty {
        findings.append(
          HostFinding(
            "mark", .problem, "packets of the programs in `apps` of \(list(naming)) go where those of all programs go: \(reason)",
            cure: "run the agent by its unit, on a kernel with CONFIG_CGROUP_BPF"))
      }
      if !guarded.isEmpty {
        findings.append(
          HostFinding(
            "mark", .problem, "\(list(guarded)) cannot be brought up: the kill switch would block the tunnel's own programs: \(reason)",
            cure: "run the agent by its unit, on a kernel with CONFIG_CGROUP_BPF; or say kill-switch: off"))
      }
      if !full.isEmpty {
        findings.append(
          HostFinding(
            "mark", .risk, "\(list(full)): packets of the tunnel's own programs go into the tunnel: \(reason)",
            cure: "have the program set the mark 0x\(String(Ownership.mark, radix: 16)) itself (openvpn: mark \(Ownership.mark))"))
      }
      return findings
    },
    HostCheck("ipv6", "IPv6 is enabled for tunnels with IPv6 addresses") { host, policies in
      guard host.kernel.isIPv6Disabled else { return [] }
      let names = policies.enabled.filter { tunnel in
        guard case .wireGuard(let provider) = tunnel.provider else { return false }
        return provider.configuration?.addresses.contains { $0.address.family == .v6 } ?? false
      }.map(\.name)
      guard !names.isEmpty else { return [] }
      return [
        HostFinding(
          "ipv6", .risk,
          "\(list(names)): the tunnel has an IPv6 address, but IPv6 is switched off on this host, so the tunnel has IPv4 alone",
          cure: "sysctl net.ipv6.conf.all.disable_ipv6=0, or remove the address from the tunnel's configuration")
      ]
    },
    HostCheck("rp-filter", "reverse path filtering is not strict") { host, policies in
      let names = policies.enabled.filter(\.takesEverything).map(\.name)
      let naming = policies.enabled.filter { $0.apps != nil }.map(\.name)
      guard !names.isEmpty || !naming.isEmpty, !host.kernel.strictLinks.isEmpty else { return [] }
      let links = host.kernel.strictLinks
      let cure = "sysctl \(links.map { "net.ipv4.conf.\($0).rp_filter=2" }.joined(separator: " ")), and the same in /etc/sysctl.d"
      let ofApps = HostFinding(
        "rp-filter", .risk,
        "\(list(naming)): strict reverse path filtering on \(list(links)) (rp_filter is 1) drops the answers to programs that `apps` names",
        cure: cure)
      if names.isEmpty { return [ofApps] }
      return (naming.isEmpty ? [] : [ofApps]) + [
        HostFinding(
          "rp-filter", .risk,
          "\(list(names)): strict reverse path filtering on \(list(links)) (rp_filter is 1) drops replies that arrive on another path, "
            + "so all traffic to the gateway's address stays outside the tunnel", cure: cure)
      ]
    },
  ]
}

extension PolicySet {
  /// Tunnels that may connect.
  var enabled: [TunnelPolicy] { tunnels.filter(\.isEnabled) }
}

/// `a`, `a and b`, `a, b and c`.
func list(_ names: [String]) -> String {
  guard let last = names.last, names.count > 1 else { return names.first ?? "" }
  return names.dropLast().joined(separator: ", ") + " and " + last
}

extension TunnelPolicy {
  fileprivate var hasWireGuard: Bool { if case .wireGuard = provider { true } else { false } }
}
