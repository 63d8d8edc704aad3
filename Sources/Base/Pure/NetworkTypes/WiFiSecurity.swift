/// The security of a Wi-Fi network, as its beacon announces it.
package enum WiFiSecurity: String, Hashable, Sendable, CaseIterable {
  case open, owe, wep, wpa, wpa2, wpa3
  case wpa2Enterprise = "wpa2-enterprise"
  case wpa3Enterprise = "wpa3-enterprise"
}
