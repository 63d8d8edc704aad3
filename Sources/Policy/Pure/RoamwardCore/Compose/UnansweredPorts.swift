import KernelModel
package import NetworkTypes

/// A TCP port at which a program of this machine waits for connections.
package struct ListeningPort: Hashable, Sendable {
  /// The address at which it waits; unspecified: at all.
  package var address: IPAddress
  package var port: UInt16

  package init(address: IPAddress, port: UInt16) {
    self.address = address
    self.port = port
  }

  /// Multicast name resolution (RFC 4795) serves the local link alone.
  fileprivate var isOfLinkAlone: Bool { port == 5355 || address.isLoopback || address.isLinkLocal }
}

extension TunnelSetup {
  /// That connections from outside to these ports get no answer while it is up, for people; `nil`: they do.
  package func unanswered(_ ports: @autoclosure () -> [ListeningPort]) -> Remark? {
    guard level.hasRoutes || isGuarding, policy.through == nil, !(policy.routes?.answersByArrival ?? false) else { return nil }
    let wanted = includedPrefixes
    guard IPAddress.Family.allCases.contains(where: { wanted.coverEverything(of: $0) }) else { return nil }
    let own = policy.provider.ownAddresses?.map(\.address) ?? []
    let open = ports().filter { port in
      !port.isOfLinkAlone && !own.contains(port.address)
        && (wanted.coverEverything(of: port.address.family) || port.address == .unspecified(.v6) && wanted.coverEverything(of: .v4))
    }
    let numbers = open.map(\.port).uniqued().sorted()
    if numbers.isEmpty { return nil }
    let shown = numbers.prefix(Self.mostPorts).map { "\($0)" }.joined(separator: ", ")
    let rest = numbers.count > Self.mostPorts ? " and \(numbers.count - Self.mostPorts) more" : ""
    let why = isGuarding ? "its kill switch drops them" : "the answers go into it"
    return Remark(
      .unanswered, of: policy.name,
      "connections from beyond the local network to port\(numbers.count == 1 ? "" : "s") \(shown)\(rest) of this machine get no answer,"
        + " because \(why); cure: `routes: { answer-by-arrival: true }`")
  }

  private static let mostPorts = 8
}

extension TunnelPolicy {
  /// That packets of a relay on this machine, such as wstunnel or udp2raw, which carries the tunnel's own packets, would go into the tunnel
  /// or be blocked, for people; `nil`: there is no such relay, or its server may be excluded.
  package var relayTrouble: String? {
    guard case .wireGuard(let provider) = provider, takesEverything || guarding != .off else { return nil }
    let relay = (provider.configuration?.peers ?? []).compactMap(\.endpoint).first { $0.address?.isLoopback ?? false }
    guard let relay, !(routes?.exclude.contains { !$0.isPrivate } ?? false) else { return nil }
    let what = guarding == .off ? "go into the tunnel that they carry" : "are blocked by its kill switch"
    return "its endpoint \(relay) is a relay on this machine, whose own packets \(what);"
      + " cure: add the address of the relay's server to `routes: exclude:`, or start the relay in `up` of the provider `command`"
  }
}
