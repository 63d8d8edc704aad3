package import NetworkTypes

/// One radio interface as nl80211 describes it (`NL80211_CMD_NEW_INTERFACE` of linux/nl80211.h).
package struct WirelessInterface: Equatable, Sendable {
  /// Its link's `ifi_index`.
  package var index: UInt32
  /// `enum nl80211_iftype`.
  package var type: UInt32
  /// The network that it is on, or offers. `nil` for none, or if the kernel does not report it here: Linux 6.0 to 6.9 lose it for stations
  /// whose connection wpa_supplicant makes step by step. `WirelessNetwork` has it then.
  package var ssid: SSID?

  package init(index: UInt32, type: UInt32, ssid: SSID?) {
    self.index = index
    self.type = type
    self.ssid = ssid
  }

  /// Whether it takes part in a network, rather than offering one: `NL80211_IFTYPE_ADHOC`, `_STATION`, `_P2P_CLIENT`.
  package var isClient: Bool { [1, 2, 8].contains(type) }

  /// From one answer of the dump; `nil` for other commands, and for devices without a link.
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

/// A network that a radio has received (`NL80211_CMD_NEW_SCAN_RESULTS`).
package struct WirelessNetwork: Equatable, Sendable {
  /// `nil` if its name is hidden.
  package var ssid: SSID?
  /// The access point's address.
  package var bssid: MACAddress?
  /// `nil` for unsupported key management.
  package var security: WiFiSecurity?
  /// `NL80211_BSS_STATUS_ASSOCIATED` or `_IBSS_JOINED`: the radio is on it.
  package var isJoined: Bool

  /// From one answer of the dump; `nil` for other commands.
  package init?(_ message: NetlinkMessage) {
    guard message.payload.byte(at: 0) == NL80211Message.newScanResults,
      let network = NetlinkAttributes(message.payload, after: 4).first(NL80211Message.Attribute.network)?.nested
    else { return nil }
    var status: UInt32?
    var capability: UInt16 = 0
    var elements: ArraySlice<UInt8> = []
    var beacon: ArraySlice<UInt8> = []
    for attribute in network {
      switch attribute.type {
      case NL80211Message.Network.bssid: bssid = MACAddress(bytes: attribute.payload)
      case NL80211Message.Network.capability: capability = attribute.payload.host16() ?? 0
      case NL80211Message.Network.elements: elements = attribute.payload
      case NL80211Message.Network.status: status = attribute.payload.host32()
      case NL80211Message.Network.beaconElements: beacon = attribute.payload
      default: continue
      }
    }
    isJoined = status == 1 || status == 2
    ssid = Self.ssid(in: elements) ?? Self.ssid(in: beacon)
    // Bit 4 of the capabilities (IEEE 802.11-2020, 9.4.1.4): privacy.
    security = WiFiSecurity(elements: elements.isEmpty ? beacon : elements, isPrivate: capability & 0x10 != 0)
  }

  /// The SSID element has ID 0, and is empty or all zero if the name is hidden.
  private static func ssid(in elements: ArraySlice<UInt8>) -> SSID? {
    let name = InformationElements(elements).first { $0.id == 0 }?.content
    return name.flatMap { $0.contains { $0 != 0 } ? SSID(bytes: Array($0)) : nil }
  }
}

/// A station that a radio communicates with (`NL80211_CMD_NEW_STATION`); for a client, its access point.
package struct WirelessStation: Equatable, Sendable {
  package var address: MACAddress

  package init?(_ message: NetlinkMessage) {
    guard message.payload.byte(at: 0) == NL80211Message.newStation,
      let bytes = NetlinkAttributes(message.payload, after: 4).first(NL80211Message.Attribute.address)?.payload,
      let address = MACAddress(bytes: bytes)
    else { return nil }
    self.address = address
  }
}

package enum NL80211Message {
  package static let family = "nl80211"
  /// The multicast group of connection events.
  package static let connectionGroup = "mlme"

  static let getInterface: UInt8 = 5
  static let newInterface: UInt8 = 7
  static let getStation: UInt8 = 17
  static let newStation: UInt8 = 19
  static let getScan: UInt8 = 32
  static let newScanResults: UInt8 = 34

  /// `NL80211_BSS_*`, within `NL80211_ATTR_BSS`.
  enum Network {
    static let bssid: UInt16 = 1
    static let capability: UInt16 = 5
    static let elements: UInt16 = 6
    static let status: UInt16 = 9
    static let beaconElements: UInt16 = 11
  }

  /// `NL80211_ATTR_*`.
  enum Attribute {
    static let index: UInt16 = 3
    static let type: UInt16 = 5
    static let address: UInt16 = 6
    static let network: UInt16 = 47
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

  /// Requests the networks that a radio has received last; starts no scan.
  package mutating func dumpWirelessNetworks(interface: UInt32, family: UInt16, sequence: UInt32) {
    genericMessage(
      family: family, command: NL80211Message.getScan, version: 0, flags: NetlinkMessage.Flag.dump, sequence: sequence
    ) { $0.attribute(NL80211Message.Attribute.index, host32: interface) }
  }

  /// Requests the stations that a radio communicates with.
  package mutating func dumpWirelessStations(interface: UInt32, family: UInt16, sequence: UInt32) {
    genericMessage(
      family: family, command: NL80211Message.getStation, version: 0, flags: NetlinkMessage.Flag.dump, sequence: sequence
    ) { $0.attribute(NL80211Message.Attribute.index, host32: interface) }
  }
}
