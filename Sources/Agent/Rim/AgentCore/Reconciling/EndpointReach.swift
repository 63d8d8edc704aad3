import KernelModel
import NetworkTypes
import RoamwardCore

// Causes behind a peer's silence that this machine knows.
extension AgentState {
  /// The reason why no peer of the tunnel can answer on this network; `nil`: at least one may, or there is no network, or another tunnel
  /// carries the packets. `isOver`: none has answered in time.
  func obstacle(of tunnel: TunnelSupervisor, isOver: Bool = false) -> TunnelFailure? {
    guard tunnel.policy.provider.isWireGuard else { return nil }
    let leavesHere = seen.snapshot.primary != nil && tunnel.policy.through == nil
    return missingRoute(of: tunnel) ?? (leavesHere ? tunnel.tryEndpoints(isOver: isOver) : nil) ?? (isOver ? lateClock : nil)
  }

  private var lateClock: TunnelFailure? {
    latestTime.lag.map { lag in
      TunnelFailure(
        .clockBehind,
        "the peer did not answer, and this machine's clock is \(text(for: .seconds(lag.behind.components.seconds))) behind the time that it "
          + "had before (\(lag.latest)): a WireGuard peer takes no handshake that seems older than the last one")
    }
  }

  private func missingRoute(of tunnel: TunnelSupervisor) -> TunnelFailure? {
    let endpoints = tunnel.endpoints
    guard let first = endpoints.first, seen.snapshot.primary != nil, tunnel.policy.through == nil,
      endpoints.allSatisfy({ !isReachable($0) })
    else { return nil }
    let number = first.family.rawValue
    let what = hasRoute(of: first.family) ? "this network has no route to \(first)" : "this network has no route of IPv\(number)"
    let which = hasRoute(of: first.family) ? "the tunnel's endpoint" : "and the endpoint \(first) is an IPv\(number) address"
    return TunnelFailure(.endpointUnreachable, "\(what), \(which)")
  }

  /// Whether the tunnel's own packets have a route to this address.
  private func isReachable(_ address: IPAddress) -> Bool {
    if address.isLoopback { return true }
    let links = seen.snapshot.links
    return links.contains { link in
      link.gateways.contains { $0.family == address.family } || link.addresses.contains { $0.onLinkPrefix.contains(address) }
    } || routes.contains { $0.destination.contains(address) }
  }

  private func hasRoute(of family: IPAddress.Family) -> Bool {
    routes.contains { $0.destination.family == family && !$0.destination.address.isLinkLocal && !$0.destination.address.isMulticast }
      || seen.snapshot.links.contains { $0.gateways.contains { $0.family == family } }
  }

  /// The routes of the machine itself and of other programs.
  private var routes: some Sequence<Route> {
    (seen.state?.kernel.routes ?? []).lazy.filter {
      $0.routeProtocol != Ownership.routeProtocol && $0.kind == .unicast && !$0.isDead
    }
  }
}
