package import KernelModel
import NetworkTypes

extension Sample {
  /// One step of each kind.
  package static var steps: [Step] {
    var steps: [Step] = []
    while let step = step(after: steps.last) { steps.append(step) }
    return steps
  }

  /// The sample after one of this kind: a new kind does not compile before it is here.
  private static func step(after step: Step?) -> Step? {
    let device = WireGuardDevice(engine: .kernel, privateKey: secretKey(1), publicKey: key(2))
    let rule = RoutingRule(family: .v4, priority: 21_500, table: 21_500)
    let route = Route(to: .everything(.v4), on: "corp", table: 21_500)
    guard let step else { return .addWireGuardLink("corp", .kernel) }
    return switch step {
    case .addWireGuardLink: .addTUNLink("plain", user: "roamward-provider")
    case .addTUNLink: .addXFRMLink("office", identifier: 0x5200_0001)
    case .addXFRMLink: .addDummyLink("names")
    case .addDummyLink: .setAlias(link: "corp", alias: "roamward:corp")
    case .setAlias: .configureWireGuard(link: "corp", device)
    case .configureWireGuard: .renewSessions(link: "corp", device)
    case .renewSessions: .setMTU(link: "corp", mtu: 1400, was: 1500)
    case .setMTU: .addAddress(own("192.0.2.1/24"), link: "corp")
    case .addAddress: .removeAddress(own("192.0.2.1/24"), link: "corp")
    case .removeAddress: .setUp(link: "corp")
    case .setUp: .deleteLink("corp", .kernel)
    case .deleteLink: .addRoute(route)
    case .addRoute: .removeRoute(route)
    case .removeRoute: .addRule(rule)
    case .addRule: .removeRule(rule)
    case .removeRule: .replaceFirewall(FirewallTable())
    case .replaceFirewall: .removeFirewall
    case .removeFirewall: .writeResolvConf(ResolvConf())
    case .writeResolvConf: .restoreResolvConf
    case .restoreResolvConf: .setLinkResolver(LinkResolver(), link: "corp")
    case .setLinkResolver: .revertLinkResolver(link: "corp")
    case .revertLinkResolver: .setRecord(ResolverRecord(ResolvConf(), program: .openresolv))
    case .setRecord: .removeRecord("corp")
    case .removeRecord: .setNameServer(NameServerSettings())
    case .setNameServer: .stopNameServer
    case .stopNameServer: .setNameCapture(NameCapture())
    case .setNameCapture: .removeNameCapture
    case .removeNameCapture: .setProxies(ProxyPublication(.direct, for: [.chromium]))
    case .setProxies: .removeProxies
    case .removeProxies: nil
    }
  }
}

extension Step {
  /// Whether two steps are of one kind, whatever they change.
  package func isOfKind(of other: Step) -> Bool {
    guard let kind = Mirror(reflecting: self).children.first?.label else { return self == other }
    return Mirror(reflecting: other).children.first?.label == kind
  }
}
