internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// Tries the endpoints of a tunnel while its peer's answer is awaited: the kernel tells at once why a packet cannot leave, and the network
/// sometimes why it did not arrive.
struct EndpointTrials {
  private var deadline: Moment?
  private var trials: [(address: IPAddress, port: UInt16, trial: EndpointTrial)] = []

  /// Why no endpoint can be reached; `nil`: at least one may. `deadline`: the end of the wait, of which each has its own trials.
  /// `isOver`: it has come, so what came back meanwhile counts.
  mutating func obstacle(
    to endpoints: [(address: IPAddress, port: UInt16)], until deadline: Moment, isOver: Bool,
    by tryEndpoint: (IPAddress, UInt16) -> EndpointTrial?
  ) -> TunnelFailure? {
    if endpoints.isEmpty { return nil }
    let isTried =
      self.deadline == deadline && endpoints.elementsEqual(trials) { $0.address == $1.address && $0.port == $1.port }
    if !isTried {
      self.deadline = deadline
      trials = endpoints.compactMap { endpoint in tryEndpoint(endpoint.address, endpoint.port).map { (endpoint.address, endpoint.port, $0) }
      }
    }
    guard trials.count == endpoints.count else { return nil }
    let found = trials.map { one in
      let obstacle = isOver && isTried ? one.trial.again() ?? one.trial.obstacle : one.trial.obstacle
      return obstacle.map { TunnelFailure($0, to: one.address, one.port) }
    }
    return found.contains { $0 == nil } ? nil : found.first ?? nil
  }
}

extension TunnelFailure {
  /// The failure of a tunnel whose endpoint this is.
  fileprivate init(_ obstacle: SendObstacle, to address: IPAddress, _ port: UInt16) {
    switch obstacle {
    case .noRoute: self.init(.endpointUnreachable, "this network has no route to \(address), the tunnel's endpoint")
    case .unreachable:
      self.init(
        .endpointUnreachable,
        "\(address), the tunnel's endpoint, is unreachable: a route of this machine says so, or the next hop does not answer")
    case .prohibited:
      self.init(.endpointUnreachable, "a route of this machine prohibits what is sent to \(address), the tunnel's endpoint")
    case .discarded:
      self.init(.endpointUnreachable, "a route of this machine (blackhole) discards what is sent to \(address), the tunnel's endpoint")
    case .filtered:
      self.init(.sendRefused, "this machine's firewall drops what is sent to \(address), UDP port \(port), the tunnel's endpoint")
    case .refused:
      self.init(
        .portClosed, "the peer did not answer, and \(address) or a firewall before it says that nothing receives at UDP port \(port)")
    }
  }
}
