extension HostCheck {
  /// What other programs on the host would do to tunnels.
  static let neighbourChecks = [
    HostCheck("networkd-rules", "systemd-networkd leaves others' rules and routes alone") { host, policies in
      guard let networkd = host.networkd, !policies.enabled.isEmpty else { return [] }
      let settings = [
        networkd.removesForeignRules ? "ManageForeignRoutingPolicyRules=no" : nil,
        networkd.removesForeignRoutes ? "ManageForeignRoutes=no" : nil,
      ].compactMap { $0 }
      guard !settings.isEmpty else { return [] }
      return [
        HostFinding(
          "networkd-rules", .risk,
          "systemd-networkd removes routing rules and routes that are not its own whenever it starts; they come back within a second, and until "
            + "then only a kill switch holds traffic back",
          cure: "/etc/systemd/networkd.conf.d/roamward.conf with [Network] and \(list(settings)); then systemctl restart systemd-networkd")
      ]
    },
    HostCheck("same-tunnel", "nobody else brings up the same tunnels") { host, policies in
      policies.enabled.flatMap { tunnel -> [HostFinding] in
        guard case .wireGuard(let provider) = tunnel.provider else { return [] }
        return host.otherTunnels.filter { $0.publicKey == provider.configuration.publicKey }.map { other in
          let (who, cure) =
            switch other.owner {
            case .unit(let unit): (unit, "systemctl disable --now \(unit)")
            case .connection(let name): ("NetworkManager", "nmcli connection modify \(quoted(name)) connection.autoconnect no")
            }
          return HostFinding(
            "same-tunnel", .problem,
            "\(tunnel.name): \(who) brings up a tunnel with the same key (\(other.file)), and the gateway answers only the last that spoke",
            cure: cure)
        }
      }
    },
    HostCheck("resolv-conf", "name servers can be set") { host, policies in
      let names = policies.enabled.filter { !$0.dnsInForce.servers.isEmpty }.map(\.name)
      guard !names.isEmpty, host.resolvConf == .file(isImmutable: true) else { return [] }
      return [
        HostFinding(
          "resolv-conf", .problem,
          "the name servers of \(list(names)) cannot be set: /etc/resolv.conf may not be changed by anybody (chattr +i)",
          cure: "chattr -i /etc/resolv.conf, or `dns: none` in the policy")
      ]
    },
    HostCheck("flush-ruleset", "nobody removes others' firewall tables") { host, policies in
      let names = policies.enabled.filter { $0.guarding != .off }.map(\.name)
      guard !names.isEmpty, let file = host.flushesRuleset else { return [] }
      return [
        HostFinding(
          "flush-ruleset", .risk,
          "\(file) begins with `flush ruleset`: each reload of nftables.service removes the kill switch of \(list(names)) until the agent, a moment "
            + "later, puts it back",
          cure: "remove only your own tables there: `table inet filter; delete table inet filter` in place of `flush ruleset`")
      ]
    },
    HostCheck("other-firewall", "nobody else's firewall drops the tunnels' own packets") { host, policies in
      let names = policies.enabled.map(\.name)
      guard !names.isEmpty else { return [] }
      return host.closedTables.map { table in
        let mark = FirewallMark(Ownership.mark, mask: Ownership.markMask)
        let whose = table.product.map { "\($0)'s kill switch is on: its table \(table.name)" } ?? "the table \(table.name)"
        return HostFinding(
          "other-firewall", .risk,
          "\(whose) drops what leaves this machine unless it knows it, and the packets of \(list(names)) may be among that; a drop is final, "
            + "whatever another table says",
          cure: table.product.map { "switch it off in \($0)" }
            ?? "nft insert rule \(table.name) \(table.chain) meta mark and 0x\(String(mark.mask, radix: 16)) == 0x\(String(mark.value, radix: 16)) accept, "
            + "unless it lets them through already; \(mark) is the mark of the tunnels' own packets")
      }
    },
  ]
}

private func quoted(_ name: String) -> String { name.contains(" ") ? "\"\(name)\"" : name }
