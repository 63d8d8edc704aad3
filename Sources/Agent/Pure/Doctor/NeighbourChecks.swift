internal import HostFindings
import KernelModel
import NetworkTypes
import RoamwardCore

extension HostCheck {
  /// Checks for conflicts of other programs on the host with tunnels.
  static let neighbourChecks = [
    HostCheck("networkd-rules", "systemd-networkd keeps foreign rules and routes") { host, policies in
      guard let networkd = host.networkd, !policies.enabled.isEmpty else { return [] }
      let settings = [
        networkd.removesForeignRules ? "ManageForeignRoutingPolicyRules=no" : nil,
        networkd.removesForeignRoutes ? "ManageForeignRoutes=no" : nil,
      ].compactMap { $0 }
      guard !settings.isEmpty else { return [] }
      return [
        HostFinding(
          "networkd-rules", .risk,
          "systemd-networkd removes foreign routing rules and routes when it starts; the agent restores them within a second, and "
            + "until then only a kill switch blocks traffic",
          cure: "set \(list(settings)) below [Network] in /etc/systemd/networkd.conf.d/roamward.conf, then "
            + "systemctl restart systemd-networkd")
      ]
    },
    HostCheck("same-tunnel", "no other program brings up the same tunnels") { host, policies in
      policies.enabled.flatMap { tunnel -> [HostFinding] in
        guard case .wireGuard(let provider) = tunnel.provider, let configuration = provider.configuration else { return [] }
        return host.otherTunnels.filter { $0.publicKey == configuration.publicKey }.map { other in
          let (who, cure) =
            switch other.owner {
            case .unit(let unit): (unit, "systemctl disable --now \(unit)")
            case .connection(let name): ("NetworkManager", "nmcli connection modify \(quoted(name)) connection.autoconnect no")
            }
          return HostFinding(
            "same-tunnel", .problem,
            "\(tunnel.name): \(who) brings up a tunnel with the same key (\(other.file)), and the gateway answers the last one only",
            cure: cure)
        }
      }
    },
    HostCheck("resolv-conf", "DNS servers can be set") { host, policies in
      let names = policies.enabled.filter { !$0.dnsInForce.servers.isEmpty }.map(\.name)
      guard !names.isEmpty, host.resolvConf == .file(isImmutable: true) else { return [] }
      return [
        HostFinding(
          "resolv-conf", .problem,
          "the DNS servers of \(list(names)) cannot be set: /etc/resolv.conf is immutable (chattr +i)",
          cure: "chattr -i /etc/resolv.conf, or `dns: none` in the policy")
      ]
    },
    HostCheck("containers", "containers use the machine's DNS servers") { host, policies in
      // Captured questions reach the tunnels' servers, whatever server a container asks.
      let tunnels = policies.enabled.filter { !$0.dnsInForce.servers.isEmpty && $0.dnsInForce.names != .capture }
      let theirs = Set(tunnels.flatMap(\.dnsInForce.servers))
      return host.containers.compactMap { containers in
        // Exclude the machine itself, which asks as the machine does, and resolvers inside the container's own network (127.0.0.11).
        let strangers = containers.servers.uniqued().filter { $0 != containers.host && !$0.isLoopback && !theirs.contains($0) }
        guard !tunnels.isEmpty, !strangers.isEmpty else { return nil }
        let which = containers.count == 1 ? "a container" : "\(containers.count) containers"
        return HostFinding(
          "containers", .risk,
          "\(which) of \(containers.program.rawValue) \(containers.count == 1 ? "uses" : "use") DNS servers "
            + "\(list(strangers.map(\.description))): names of \(list(tunnels.map(\.name))) are not resolved inside the tunnel there, "
            + "and leak to these servers",
          cure: "add `names: capture` to the tunnel's `dns:`; or \(containers.cure)")
      }
    },
    HostCheck("flush-ruleset", "nftables.service keeps foreign firewall tables") { host, policies in
      let names = policies.enabled.filter { $0.guarding != .off }.map(\.name)
      guard !names.isEmpty, let file = host.flushesRuleset else { return [] }
      return [
        HostFinding(
          "flush-ruleset", .risk,
          "\(file) begins with `flush ruleset`: each reload of nftables.service removes the kill switch of \(list(names)) until the agent "
            + "restores it",
          cure: "remove only your own tables there: `table inet filter; delete table inet filter` instead of `flush ruleset`")
      ]
    },
    HostCheck("other-firewall", "no other firewall drops the tunnels' own packets") { host, policies in
      let names = policies.enabled.map(\.name)
      guard !names.isEmpty else { return [] }
      return host.closedTables.map { table in
        let mark = FirewallMark(Ownership.mark, mask: Ownership.markMask)
        let whose = table.product.map { "\($0)'s kill switch is on: its table \(table.name)" } ?? "table \(table.name)"
        return HostFinding(
          "other-firewall", .risk,
          "\(whose) drops outgoing traffic by default, possibly including the packets of \(list(names)); a drop is final, whatever another "
            + "table accepts",
          cure: table.product.map { "switch it off in \($0)" }
            ?? "nft insert rule \(table.name) \(table.chain) meta mark and 0x\(String(mark.mask, radix: 16)) == 0x\(String(mark.value, radix: 16)) accept, "
            + "unless the table accepts them already; \(mark) is the mark of the tunnels' own packets")
      }
    },
  ]
}

extension ContainerResolvers {
  /// The solution: systemd-resolved listens where containers reach it, and they are configured to use it.
  fileprivate var cure: String {
    let stub = "set DNSStubListenerExtra=\(host) below [Resolve] in /etc/systemd/resolved.conf.d/containers.conf"
    return switch program {
    case .docker: "\(stub), and \"dns\": [\"\(host)\"] in /etc/docker/daemon.json; then restart systemd-resolved, docker and the containers"
    case .podman:
      "\(stub), and dns_servers = [\"\(host)\"] below [containers] in /etc/containers/containers.conf; then restart systemd-resolved and the containers"
    }
  }
}

private func quoted(_ name: String) -> String { name.contains(" ") ? "\"\(name)\"" : name }
