internal import NetworkTypes
package import RoamwardCore

extension NetworkSnapshot {
  /// A Wi-Fi network that no policy knows, with internet access: the answer to "what does this do at a café?".
  package static let unknownNetwork: NetworkSnapshot = {
    let hardware = MACAddress("02:00:5e:00:00:f1")
    let link = LinkFacts(
      name: "wlan0", type: .known(.wifi), ssid: .known(SSID("an unknown network")), bssid: .known(hardware), wifiSecurity: .known(.open),
      addresses: [IPAddress("192.0.2.77").flatMap { InterfaceAddress($0, prefixLength: 24) }].compactMap(\.self),
      gateways: [IPAddress("192.0.2.1")].compactMap(\.self), gatewayMAC: .known(hardware),
      dnsServers: .known([IPAddress("192.0.2.1")].compactMap(\.self)))
    return NetworkSnapshot(primary: link.name, links: [link])
  }()
}
