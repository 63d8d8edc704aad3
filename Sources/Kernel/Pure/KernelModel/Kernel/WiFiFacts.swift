package import NetworkTypes

/// The facts of a radio about its network; known and `nil` without a network.
package struct WiFiFacts: Equatable, Sendable {
  package var ssid: Fact<SSID?>
  package var bssid: Fact<MACAddress?>
  package var security: Fact<WiFiSecurity?>

  package init(ssid: Fact<SSID?> = .known(nil), bssid: Fact<MACAddress?> = .known(nil), security: Fact<WiFiSecurity?> = .known(nil)) {
    self.ssid = ssid
    self.bssid = bssid
    self.security = security
  }
}
