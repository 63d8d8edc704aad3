import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore

extension Event.Kind {
  static func provider(_ tunnel: String, _ news: ProviderNews) -> Event.Kind {
    switch news {
    case .log(let level, let origin, let text): .providerLog(tunnel: tunnel, level: level, origin: origin, text: text)
    case .question(let number, let kind, let prompt): .question(tunnel: tunnel, number: number, kind: kind, prompt: prompt)
    case .event(let name, let data): .provider(tunnel: tunnel, name: name, data)
    }
  }

  /// The event that reports the machine's present network.
  static func network(of snapshot: NetworkSnapshot) -> Event.Kind {
    let primary = snapshot.primaryLink
    return .network(link: primary?.name, type: primary?.type.value?.rawValue, ssid: primary?.ssid.value??.description)
  }

  static func decision(_ order: TunnelOrder) -> Event.Kind {
    let decision = order.decision
    return .decision(
      tunnel: order.tunnel, outcome: decision.outcome.rawValue, rule: decision.rule?.index, name: decision.rule?.name,
      code: decision.code, reason: decision.reason)
  }
}

extension Step {
  /// Whether a route could not be added because its link went down meanwhile.
  func lostItsLink(between before: ObservedState, _ after: ObservedState) -> Bool {
    guard case .addRoute(let route) = self, let link = route.link else { return false }
    return before.kernel.link(named: link)?.isUp == true && after.kernel.link(named: link)?.isUp == false
  }
}
