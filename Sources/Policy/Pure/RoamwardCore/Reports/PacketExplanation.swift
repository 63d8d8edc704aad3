import KernelModel
package import NetworkTypes

/// A packet of this machine, as a person names it: `10.20.1.2`, `10.20.1.2:443`, `[2001:db8::7]:53/udp`.
package struct PacketDestination: Hashable, Sendable, LosslessStringConvertible {
  package let address: IPAddress
  package let port: UInt16?
  /// `tcp`, `udp` or `icmp`; without one, `tcp` if there is a port, else `icmp`.
  package let transport: String

  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    if let address = IPAddress(parts[0]) {
      (self.address, port) = (address, nil)
    } else if let endpoint = Endpoint(parts[0]), case .address(let address) = endpoint.host {
      (self.address, port) = (address, endpoint.port)
    } else {
      return nil
    }
    transport = parts.count == 2 ? parts[1] : port == nil ? "icmp" : "tcp"
    guard parts.count <= 2, ["tcp", "udp", "icmp"].contains(transport), transport != "icmp" || port == nil else { return nil }
  }

  /// A destination by a name, such as `git.corp.example:443/tcp`: the name, and the destination once its address is known; `nil`: it is
  /// none.
  package static func named(_ text: String) -> (name: DomainName, at: (IPAddress) -> PacketDestination?)? {
    let end = text.firstIndex { $0 == ":" || $0 == "/" } ?? text.endIndex
    guard let name = DomainName(String(text[..<end])), PacketDestination(text) == nil else { return nil }
    let rest = text[end...]
    let at: (IPAddress) -> PacketDestination? = { address in
      PacketDestination((address.family == .v6 && rest.hasPrefix(":") ? "[\(address)]" : "\(address)") + rest)
    }
    return at(.unspecified(.v4)) == nil ? nil : (name, at)
  }

  package var description: String { "\(address) \(transport)" + (port.map { " port \($0)" } ?? "") }
}

/// The fate of a packet on its whole way: by this machine's rules and routes, in the tunnel, and at the other end.
package struct PacketExplanation: Sendable {
  package enum Verdict: String, Sendable, CaseIterable {
    /// The packet goes on.
    case pass
    /// The packet goes no further.
    case stop
    /// It cannot be said.
    case unknown
    /// A remark that stops nothing.
    case note
  }

  package struct Step: Sendable {
    /// `routes`, `kill switch`, the name of a tunnel, or a place of the other end.
    package let place: String
    package let verdict: Verdict
    package let text: String
  }

  package let destination: PacketDestination
  package private(set) var steps: [Step] = []

  package init(_ destination: PacketDestination) { self.destination = destination }

  package mutating func add(_ place: String, _ verdict: Verdict, _ text: String) {
    steps.append(Step(place: place, verdict: verdict, text: text))
  }

  /// The first step that stops the packet.
  package var stop: Step? { steps.first { $0.verdict == .stop } }
  package var verdict: Verdict { stop != nil ? .stop : steps.contains { $0.verdict == .unknown } ? .unknown : .pass }

  package var text: String {
    let end =
      switch verdict {
      case .stop: "stopped at \(stop.map { "\($0.place): \($0.text)" } ?? "")"
      case .unknown: "not known to the end"
      case .pass, .note: "it passes"
      }
    let lines = steps.map { step in
      let word =
        switch step.verdict {
        case .stop: "STOP"
        case .unknown: "?"
        default: step.verdict.rawValue
        }
      return "  \(pad(word, 4))  \(step.place): \(step.text)"
    }
    return ([destination.description] + lines + [end]).map { $0 + "\n" }.joined()
  }

  /// The steps on this machine, up to the tunnel that takes the packet. Returns that tunnel.
  package mutating func follow(_ desired: DesiredState, _ decisions: [Decision], of policies: PolicySet) -> String? {
    switch desired.fate(of: destination.address) {
    case .inside(let link, let prefix):
      let tunnel = desired.links.first { $0.name == link }?.tunnel ?? link
      add(
        "routes", .pass, "into the tunnel \(tunnel), by \(prefix)\(desired.routes.haveByName(prefix) ? ", from an answer for a name" : "")")
      return tunnel
    case .unreachable(let prefix): add("routes", .stop, "a route of a tunnel makes \(prefix) unreachable")
    case .blocked(let tunnels):
      add("kill switch", .stop, "that of \(tunnels.joined(separator: ", ")) blocks it; `roamward status` says more")
    case .outside:
      let isByName = desired.routes.haveByName(.host(destination.address))
      add("routes", .pass, "outside of every tunnel\(isByName ? ", by a route from an answer for a name" : "")")
    }
    for decision in decisions where decision.outcome == .disconnect || decision.inert != nil {
      guard let policy = policies.tunnel(named: decision.tunnel), policy.mayTake(destination.address) else { continue }
      let why = decision.inert.map(\.text) ?? decision.rule.map { "\($0.text) (\($0.location.short))" } ?? "no rule matches"
      add(decision.tunnel, .note, "not up: \(why)")
    }
    return nil
  }
}

extension [Route] {
  /// Whether a route to this prefix follows from an answer for a name.
  fileprivate func haveByName(_ prefix: IPPrefix) -> Bool { contains { $0.destination == prefix && $0.metric == Route.metricByName } }
}

extension TunnelPolicy {
  /// Whether the tunnel could take packets to this address; one without routes of its own gets them from its provider.
  fileprivate func mayTake(_ address: IPAddress) -> Bool {
    guard let routes, !includesAllNetworks else { return true }
    return (routes.include.isEmpty || routes.include.contains { $0.contains(address) }) && !routes.exclude.contains { $0.contains(address) }
  }
}
