import AgentCore
internal import ControlProtocol
import LinuxPlatform
internal import Logging
internal import RoamwardCore

/// Journal entries with a MESSAGE_ID (systemd.journal-fields(7)): `journalctl MESSAGE_ID=…`. The IDs are stable (docs/operations.md).
enum JournalMessage: String, CaseIterable {
  /// The kill switch blocks traffic, because its tunnel is not up.
  case trafficBlocked = "1d75ec7e62244c63a2066fd4ca41e7c3"
  /// The kill switch no longer blocks traffic.
  case trafficFlows = "998d2463cdfa400c9b235d2ee18ad045"
  /// A person has suspended the kill switch.
  case killSwitchSuspended = "6cc06cc4968b4046b05c0320dbbfb889"
  /// A person has opened the portal window.
  case portalOpened = "3156d97ebf19402bb6622b57ccc27026"

  /// The entry for a status of the firewall.
  init(_ status: FirewallStatus) {
    switch status.code {
    case .killSwitchSuspended: self = .killSwitchSuspended
    case .portalOpened: self = .portalOpened
    case .trafficBlocked: self = .trafficBlocked
    default: self = .trafficFlows
    }
  }

  /// The metadata key under which a log handler receives it.
  static let key = "MESSAGE_ID"
}
