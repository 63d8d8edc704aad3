package import NetworkTypes

/// One radio interface as nl80211 describes it (`NL80211_CMD_NEW_INTERFACE` of linux/nl80211.h).
package struct WirelessInterface: Hashable, Sendable {
  /// Its link's `ifi_index`.
  package var index: UInt32
  /// `enum nl80211_iftype`.
  package var type: UInt32
  /// The network it is on, or that it offers; `nil` for none, and for a hidden name.
  package var ssid: SSID?

  package init(index: UInt32, type: UInt32, ssid: SSID?) {
    self.index = index
    self.type = type
    self.ssid = ssid
  }

  /// Whether it takes part in a network rather than offering one: `NL80211_IFTYPE_ADHOC`, `_STATION`, `_P2P_CLIENT`.
  package var isClient: Bool { [1, 2, 8].contains(type) }

  /// From one answer of the dump; `nil` for other commands, and for devices that have no link.
  package init?(_ message: NetlinkMessage) {
    guard message.payload.byte(at: 0) == NL80211Message.newInterface else { return nil }
    self.init(index: 0, type: 0, ssid: nil)
    for attribute in NetlinkAttributes(message.payload, after: 4) {
      switch attribute.type {
      case NL80211Message.Attribute.index: index = attribute.payload.host32() ?? 0
      case NL80211Message.Attribute.type: type = attribute.payload.host32() ?? 0
      case NL80211Message.Attribute.ssid: ssid = SSID(bytes: Array(attribute.payload))
      default: continue
      }
    }
    guard index != 0 else { return nil }
  }
}

package enum NL80211Message {
  package static let family = "nl80211"
  /// The multicast group that tells of connections.
  package static let connectionGroup = "mlme"

  static let getInterface: UInt8 = 5
  static let newInterface: UInt8 = 7

  /// `NL80211_ATTR_*`.
  enum Attribute {
    static let index: UInt16 = 3
    static let type: UInt16 = 5
    static let ssid: UInt16 = 52
  }

  /// Whether an event may mean another SSID: connected (46), roamed (47), disconnected (48), joined an ad-hoc network (43),
  /// (de)authenticated and (dis)associated (37 to 40).
  package static func isAboutConnection(_ message: NetlinkMessage) -> Bool {
    guard let command = message.payload.byte(at: 0) else { return false }
    return (37...40).contains(command) || command == 43 || (46...48).contains(command)
  }
}

extension NetlinkWriter {
  package mutating func dumpWirelessInterfaces(family: UInt16, sequence: UInt32) {
    genericMessage(
      family: family, command: NL80211Message.getInterface, version: 0, flags: NetlinkMessage.Flag.dump, sequence: sequence
    ) { _ in }
  }
}
