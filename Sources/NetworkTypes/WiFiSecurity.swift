/// How a Wi-Fi network protects its air, as its beacon says.
package enum WiFiSecurity: String, Hashable, Sendable, CaseIterable {
  case open, owe, wep, wpa, wpa2, wpa3
  case wpa2Enterprise = "wpa2-enterprise"
  case wpa3Enterprise = "wpa3-enterprise"
}
