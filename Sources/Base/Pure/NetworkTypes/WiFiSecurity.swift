/// The security of a Wi-Fi network, as its beacon announces it.
package enum WiFiSecurity: String, Hashable, Sendable, CaseIterable {
  /// No encryption.
  case open
  /// Encryption without authentication (OWE, RFC 8110).
  case owe
  /// WEP, which protects nothing.
  case wep
  /// WPA with a password.
  case wpa
  /// WPA2 with a password.
  case wpa2
  /// WPA3 with a password (SAE).
  case wpa3
  /// WPA2 with an account of each user (802.1X).
  case wpa2Enterprise = "wpa2-enterprise"
  /// WPA3 with an account of each user (802.1X).
  case wpa3Enterprise = "wpa3-enterprise"
}
