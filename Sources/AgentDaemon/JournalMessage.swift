import AgentCore
internal import ControlProtocol
import LinuxPlatform
internal import Logging
internal import RoamwardCore

/// Entries that the journal finds by their MESSAGE_ID (systemd.journal-fields(7)): `journalctl MESSAGE_ID=…`. They are the same from
/// version to version (docs/operations.md).
enum JournalMessage: String, CaseIterable {
  /// What a kill switch guards does not flow, because its tunnel is not up.
  case trafficBlocked = "1d75ec7e62244c63a2066fd4ca41e7c3"
  /// Nothing is held back any more for want of a tunnel.
  case trafficFlows = "998d2463cdfa400c9b235d2ee18ad045"
  /// A person has opened the firewall.
  case firewallReleased = "6cc06cc4968b4046b05c0320dbbfb889"
  /// A person has opened the window for a captive portal.
  case portalOpened = "3156d97ebf19402bb6622b57ccc27026"

  /// Of a situation of the firewall.
  init(_ status: FirewallStatus) {
    switch status.code {
    case .killSwitchSuspended: self = .firewallReleased
    case .portalOpened: self = .portalOpened
    case .trafficBlocked: self = .trafficBlocked
    default: self = .trafficFlows
    }
  }

  /// Under which a log handler that can tells it.
  static let key = "MESSAGE_ID"
}
