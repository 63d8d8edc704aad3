import KernelModel
package import NetworkTypes

/// Decides when to let the kernel resolve the gateway's hardware address for a rule. The kernel itself resolves it only for a packet, and
/// an idle machine sends none. Behind an active kill switch no packet gets that far.
///
/// The kernel asks three times within three seconds and then marks the neighbour as failed, which is an event. So the number of requests
/// per gateway is limited.
package struct GatewayInquiry: Hashable, Sendable {
  private struct Subject: Hashable {
    let gateway: IPAddress
    let link: String
    let device: DeviceIdentity?
  }

  private static let tries = 3
  private static let pause = Duration.seconds(1)

  private var subject: Subject?
  private var asked = 0
  private var askedAt: Moment?

  package init() {}

  /// The gateway to resolve now, and its link; `nil`: none.
  package mutating func next(on snapshot: NetworkSnapshot, needed: Set<FactKind>, at now: Moment) -> (IPAddress, LinkFacts)? {
    guard needed.contains(.gatewayMAC), let link = snapshot.primaryLink, let gateway = link.gateways.first, link.isAwaiting(.gatewayMAC)
    else {
      subject = nil
      return nil
    }
    let new = Subject(gateway: gateway, link: link.name, device: link.device)
    if subject != new { (subject, asked, askedAt) = (new, 0, nil) }
    guard asked < Self.tries, askedAt.map({ $0 + Self.pause <= now }) ?? true else { return nil }
    (asked, askedAt) = (asked + 1, now)
    return (gateway, link)
  }
}
