internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// Tries the endpoints of a tunnel while its peer's answer is awaited: the kernel tells at once why a packet has no way. Where no answer
/// comes, a packet of our own shows whether a firewall takes it, and the network sometimes why none arrived.
struct EndpointTrials {
  /// A peer on a healthy network has answered by then, and nothing is sent.
  private static let patience = Duration.milliseconds(900)

  private var deadline: Moment?
  private var begun: Moment?
  private var trials: [Trial] = []

  private struct Trial {
    let address: IPAddress
    let port: UInt16
    let kernel: EndpointTrial
    var obstacle: SendObstacle?
    var isSent = false
  }

  /// Whether a packet is due in this wait: no answer has come.
  func isDue(at now: Moment, until deadline: Moment) -> Bool {
    guard self.deadline == deadline, let begun else { return false }
    return now >= begun + Self.patience && trials.contains { !$0.isSent && $0.obstacle == nil }
  }

  /// The reason why no endpoint can be reached; `nil`: at least one may. `deadline`: the end of the wait; each wait has trials of its own.
  /// `isOver`: the deadline has passed, so ICMP errors that came back meanwhile count.
  mutating func obstacle(
    to endpoints: [(address: IPAddress, port: UInt16)], until deadline: Moment, isOver: Bool, at now: Moment,
    by tryEndpoint: (IPAddress, UInt16) -> EndpointTrial?
  ) -> TunnelFailure? {
    if endpoints.isEmpty { return nil }
    if self.deadline != deadline || !endpoints.elementsEqual(trials, by: { $0.address == $1.address && $0.port == $1.port }) {
      (self.deadline, begun) = (deadline, now)
      trials = endpoints.compactMap { address, port in
        tryEndpoint(address, port).map { Trial(address: address, port: port, kernel: $0, obstacle: $0.obstacle) }
      }
    }
    guard trials.count == endpoints.count, let begun else { return nil }
    let isDue = now >= begun + Self.patience
    for i in trials.indices where isOver || isDue && !trials[i].isSent {
      trials[i].obstacle = trials[i].kernel.send() ?? trials[i].obstacle
      trials[i].isSent = true
    }
    let found = trials.map { trial in trial.obstacle.map { TunnelFailure($0, to: trial.address, trial.port) } }
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
