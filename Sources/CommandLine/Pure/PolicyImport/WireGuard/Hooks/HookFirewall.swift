import NetworkTypes
import RoamwardCore

/// A rule of a firewall that a hook adds: of iptables(8), nft(8) or ufw(8).
struct HookFirewallRule: Equatable {
  enum Verdict: Equatable {
    case accept, block
    /// It goes on in another chain.
    case jump(String)
    /// It marks packets for policy routing.
    case mark
    /// It translates or adapts packets.
    case adapt
  }

  enum Condition: Equatable {
    /// The packet leaves by another link than the tunnel's (`! -o %i`).
    case outside
    /// It leaves by the tunnel's link, by the loopback link, by another one.
    case inside, loopback, otherLink
    case notLoopback
    /// It carries the tunnel's firewall mark (`wg show %i fwmark`), or not.
    case marked, unmarked
    /// It goes to this machine itself, or not.
    case local, notLocal
    case to(String), notTo(String)
    /// It belongs to a connection that has been let through.
    case established
    /// Its destination port, by number or name.
    case port(String)
    /// A protocol, a comment, a counter.
    case idle
    case other
  }

  /// `output` for what this machine sends, `forward`, `input`, or a chain's own name.
  var chain: String
  var conditions: [Condition] = []
  var verdict: Verdict
  /// Whether it is about IPv6 alone.
  var isIPv6 = false
}

/// The meaning of the rules of all hooks together.
struct HookFirewall: Equatable {
  enum Meaning: Equatable {
    case none
    /// Packets to what the tunnel includes go through it or not at all. `stricter`: the file lets more pass.
    case killSwitch(allowsLAN: Bool, stricter: Bool)
    /// Something is blocked that no key of a policy blocks.
    case unknown
  }

  var rules: [HookFirewallRule] = []
  /// The hooks of nft's chains, by their names.
  var chains: [String: String] = [:]
  /// The names of the gateway in rules: hosts and ports of endpoints.
  var endpoints: Set<String> = []
  var endpointPorts: Set<String> = []
  var included: [IPPrefix] = []

  /// The rules of a chain, with those of chains that it jumps to.
  private func rules(of chain: String, depth: Int = 0) -> [HookFirewallRule] {
    guard depth < 4 else { return [] }
    return rules.filter { (chains[$0.chain] ?? $0.chain) == chain }.flatMap { rule -> [HookFirewallRule] in
      guard case .jump(let next) = rule.verdict else { return [rule] }
      return rules(of: next, depth: depth + 1).map { inner in
        var inner = inner
        inner.conditions += rule.conditions
        return inner
      }
    }
  }

  var meaning: Meaning {
    // A tunnel that takes all of IPv4 and has no IPv6 makes IPv6 unreachable by itself.
    let leavesIPv6 = included.coverEverything(of: .v4) && !included.coverEverything(of: .v6)
    let output = rules(of: "output").filter { !($0.isIPv6 && leavesIPv6) }
    let blocks = output.filter { $0.verdict == .block }
    if blocks.isEmpty { return .none }
    let accepts = output.filter { $0.verdict == .accept }
    let isInsideAccepted = accepts.contains { $0.conditions.contains(.inside) }
    guard blocks.allSatisfy({ isKillSwitch($0, isInsideAccepted: isInsideAccepted) }) else { return .unknown }
    let exceptions = blocks.flatMap(\.conditions).compactMap { if case .notTo(let place) = $0 { place } else { nil } }
    let odd = accepts.filter { !isExpected($0) }
    let isOddException = exceptions.contains { !endpoints.contains(Self.bare($0)) && !Self.isLAN($0) }
    let destinations = accepts.filter { !$0.conditions.contains(.inside) }.flatMap(\.conditions).compactMap {
      if case .to(let place) = $0 { place } else { nil }
    }
    return .killSwitch(
      allowsLAN: (exceptions + destinations).contains { Self.isLAN($0) && !endpoints.contains(Self.bare($0)) },
      stricter: !odd.isEmpty || isOddException)
  }

  /// Whether a blocking rule leaves nothing outside of the tunnel but what a kill switch leaves there too.
  private func isKillSwitch(_ rule: HookFirewallRule, isInsideAccepted: Bool) -> Bool {
    var isBeyondTunnel = isInsideAccepted
    var destinations: [IPPrefix] = []
    for condition in rule.conditions {
      switch condition {
      case .outside, .otherLink: isBeyondTunnel = true
      case .unmarked, .notLocal, .notLoopback, .notTo, .idle: break
      case .to(let place):
        guard let prefix = Self.prefix(place) else { return false }
        destinations.append(prefix)
      case .inside, .loopback, .marked, .local, .established, .port, .other: return false
      }
    }
    guard isBeyondTunnel else { return false }
    // Without a destination it blocks everything, which only a tunnel for everything guards.
    return destinations.isEmpty ? included.coverEverything : destinations.allSatisfy { place in included.contains { $0.contains(place) } }
  }

  /// Whether a kill switch lets the same flow.
  private func isExpected(_ rule: HookFirewallRule) -> Bool {
    rule.conditions.contains { condition in
      switch condition {
      case .inside, .loopback, .marked, .local, .established: true
      case .to(let place): endpoints.contains(Self.bare(place)) || Self.isLAN(place)
      case .port(let port): endpointPorts.contains(port) || ["67", "68", "546", "547", "67:68", "68:67", "bootps", "bootpc"].contains(port)
      case .outside, .otherLink, .notLoopback, .unmarked, .notLocal, .notTo, .idle, .other: false
      }
    }
  }

  private static func bare(_ place: String) -> String {
    for suffix in ["/32", "/128"] where place.hasSuffix(suffix) { return String(place.dropLast(suffix.count)) }
    return place
  }

  private static func prefix(_ place: String) -> IPPrefix? { IPPrefix(place) ?? IPAddress(place).map { .host($0) } }

  /// A private prefix, or one of a single link.
  private static func isLAN(_ place: String) -> Bool {
    guard let prefix = prefix(place) else { return place.contains("LOCAL_NET") || place.contains("LAN") }
    return prefix.isArmable || prefix.address.isLinkLocal || prefix.address.isMulticast || place.hasPrefix("255.255.255.255")
  }

  /// The losses with the rules that are no kill switch, a line each.
  var losses: [String] {
    var losses: [String] = []
    if !rules(of: "forward").isEmpty || rules.contains(where: { $0.verdict == .adapt }) {
      losses.append("what it does with other machines' packets is not taken over; the machine's own firewall can do it")
    }
    if !rules(of: "input").isEmpty {
      losses.append("what it does with incoming packets is not taken over; the machine's own firewall can do it")
    }
    return losses
  }
}
