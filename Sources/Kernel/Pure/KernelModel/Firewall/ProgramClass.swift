package import NetworkTypes

/// Programs whose packets leave by one tunnel, or not at all (`roamward run --through`), known by the mark that their sockets have from
/// their creation.
package struct ProgramClass: Hashable, Sendable {
  /// `Ownership.programMark`.
  package var mark: UInt32
  /// The link of the tunnel; `nil`: it is down, and all of their packets are blocked.
  package var link: String?
  /// The name servers of the tunnel: questions that these programs send to others go to them. Empty: questions go where they are sent.
  package var servers: [IPAddress]

  package init(mark: UInt32, link: String? = nil, servers: [IPAddress] = []) {
    self.mark = mark
    self.link = link
    self.servers = servers
  }

  /// The chains of a table for these programs, and for their names. `ipsec`: our policies, for packets that are encrypted later.
  static func chains(
    of classes: [ProgramClass], _ names: ProgramNames?, ipsec: [UInt32], refusal: String
  ) -> [(name: String, hook: String, rules: [String])] {
    let (own, questions) = (names?.portRules ?? [], (names?.rules ?? []) + Self.names(of: classes))
    let redirection =
      (questions.isEmpty ? [] : [("programs_names", "type nat hook output priority -100", questions)])
      + (own.isEmpty ? [] : [("programs_ports", "type filter hook output priority filter", own)])
    if classes.isEmpty { return redirection }
    let encrypted = ipsec.map { "ipsec out reqid \($0) accept" }
    return redirection + [
      ("programs", "type filter hook output priority filter", rules(of: classes, passing: [], refusal)),
      ("programs_leaving", "type filter hook postrouting priority filter", rules(of: classes, passing: encrypted, "counter drop")),
    ]
  }

  /// Rules for the hook that changes destinations. Resolvers of this machine are asked as they are. A family without a server has no names.
  static func names(of classes: [ProgramClass]) -> [String] {
    classes.sorted { $0.mark < $1.mark }.flatMap { one -> [String] in
      if one.link == nil || one.servers.isEmpty { return [] }
      let mark = "meta mark 0x\(String(one.mark, radix: 16)) oifname != \"lo\""
      return IPAddress.Family.allCases.map { family in
        let (word, protocols) = (family == .v4 ? "ip" : "ip6", "meta l4proto { tcp, udp } th dport 53")
        let server = one.servers.first { $0.family == family }
        return "\(mark) meta nfproto \(family == .v4 ? "ipv4" : "ipv6") \(protocols) " + (server.map { "dnat \(word) to \($0)" } ?? "drop")
      }
    }
  }

  /// The rules of a chain for these programs' packets. Those that stay on this machine pass. Marks of no class are those of programs whose
  /// class is gone.
  static func rules(of classes: [ProgramClass], passing others: [String], _ verdict: String) -> [String] {
    let own = classes.sorted { $0.mark < $1.mark }.compactMap { one in
      one.link.map { "meta mark 0x\(String(one.mark, radix: 16)) oifname \"\($0)\" accept" }
    }
    let any =
      "meta mark & 0x\(String(Ownership.programMask, radix: 16)) != 0x\(String(Ownership.programMark(0), radix: 16)) accept"
    return ["oifname \"lo\" accept", any] + own + others + [verdict]
  }

  /// The text for people: `corp`, or that they are blocked.
  static func text(of classes: [ProgramClass]) -> String? {
    if classes.isEmpty { return nil }
    let routes = classes.compactMap(\.link).sorted()
    return "packets of programs that belong to a tunnel leave by it alone"
      + (routes.isEmpty ? ": none is up" : " (\(routes.joined(separator: ", ")))")
  }
}
