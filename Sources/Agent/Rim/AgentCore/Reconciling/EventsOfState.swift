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

  static func decision(_ order: TunnelIntent) -> Event.Kind {
    let decision = order.decision
    return .decision(
      tunnel: order.tunnel, outcome: decision.outcome.rawValue, rule: decision.rule?.index, name: decision.rule?.name,
      code: decision.code, reason: decision.reason)
  }
}

extension Step {
  /// Whether the step failed because its link went away or down meanwhile, or because the link's engine has ended. An engine's link goes a
  /// moment after the engine's socket.
  func lostItsLink(between before: ObservedState, _ after: ObservedState) -> Bool {
    guard let name = traits.device, let had = before.kernel.link(named: name) else { return false }
    guard let link = after.kernel.link(named: name), link.device == had.device else { return true }
    return switch self {
    case .addRoute: had.isUp && !link.isUp
    case .configureWireGuard: after.wireGuard[name] == nil
    default: false
    }
  }
}
