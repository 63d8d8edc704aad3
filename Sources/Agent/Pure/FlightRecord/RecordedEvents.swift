internal import ControlProtocol
internal import JSON
import NetworkTypes
import RoamwardCore

extension NamePrivacy {
  /// The text in the place of one that is left out.
  package static let noText = "not recorded"

  /// The event as it is recorded; `nil`: it is not. Decisions and networks are recorded by the evaluations. Routes of names
  /// would fill the record.
  func json(of event: Event) -> JSON? {
    switch event.kind {
    case .decision, .network, .snapshot, .timer, .providerLog, .provider, .question, .nameRoute: return nil
    case .state, .lookup, .failure, .override, .policy, .firewall, .repair, .warning: break
    }
    let whole = JSON(encoding: event.report)
    // Reasons, messages and the names that programs look up are about places and people.
    let members = (whole.members ?? []).compactMap { member -> JSON.Member? in
      switch member.key {
      case "version", "time": nil
      case "reason", "message", "name", "control-group":
        hasText || member.value == .null ? member : JSON.Member(key: member.key, value: .string(Self.noText))
      case "firewall" where !hasText: JSON.Member(key: member.key, value: withoutReason(member.value))
      default: member
      }
    }
    return .object(members)
  }

  private func withoutReason(_ firewall: JSON) -> JSON {
    .object(
      (firewall.members ?? []).map {
        $0.key == "reason" && $0.value != .null ? JSON.Member(key: $0.key, value: .string(Self.noText)) : $0
      })
  }
}
