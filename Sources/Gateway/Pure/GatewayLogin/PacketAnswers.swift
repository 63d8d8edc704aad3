package import GatewayCore
package import LoginProtocol

extension PacketAnswer {
  /// The answer to a device: the first step that stops the packet, and nothing of the steps behind it.
  package init(_ evaluation: PacketEvaluation, to number: UInt64) {
    let order: [PacketEvaluation.Place] = [.client, .lease, .user, .session, .access, .device, .forwarding, .route]
    let first = evaluation.firstStop
    let reached = first.flatMap(order.firstIndex) ?? order.count
    self.init(number: number, stop: first.map(Stop.init))
    source = evaluation.source
    if reached >= 4 { rule = evaluation.rule?.description }
    guard first == nil else { return }
    if case .leaves(let link, let nextHop)? = evaluation.path { (self.link, self.nextHop) = (link, nextHop) }
    isTranslated = evaluation.isTranslated
  }
}

extension PacketAnswer.Stop {
  fileprivate init(_ place: PacketEvaluation.Place) {
    self =
      switch place {
      case .client: .routes
      case .lease: .address
      // A device without a session has no way to ask.
      case .user, .session: .user
      case .access: .access
      case .device: .device
      case .forwarding: .forwarding
      case .route: .route
      }
  }
}
