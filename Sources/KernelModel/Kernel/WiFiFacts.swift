package import NetworkTypes

/// What a radio says about the network that it is on; known and `nil` for one that is on none.
package struct WiFiFacts: Hashable, Sendable {
  package var ssid: Fact<SSID?>
  package var bssid: Fact<MACAddress?>
  package var security: Fact<WiFiSecurity?>

  package init(ssid: Fact<SSID?> = .known(nil), bssid: Fact<MACAddress?> = .known(nil), security: Fact<WiFiSecurity?> = .known(nil)) {
    self.ssid = ssid
    self.bssid = bssid
    self.security = security
  }
}
