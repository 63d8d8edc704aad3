import KernelModel
package import NetworkTypes

/// When to have the kernel resolve the gateway's hardware address, which a rule needs: the kernel itself asks only when a packet goes
/// there, and an idle machine sends none; behind a closed kill switch none gets that far.
///
/// The kernel asks three times within three seconds and then notes that nobody answers, which is an event. So one gateway is asked for a
/// few times, and not for ever.
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

  /// The gateway to ask for now, and its link; `nil`: none.
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
