package import NetworkTypes

/// When a rule or a named network holds: a tree over facts of the underlay's primary link. Evaluates to yes, no or unknown.
package indirect enum Condition: Hashable, Sendable {
  /// All have to hold; an empty list always does.
  case all([Condition])
  /// One has to hold; an empty list always does, as an absent key would.
  case any([Condition])
  /// The condition does not hold; unknown stays unknown.
  case not(Condition)
  /// A network named in any file.
  case network([String])

  /// The primary link is of one of these types.
  case interface([InterfaceType])
  /// The primary link's name matches one of these patterns (`*` and `?`).
  case interfaceName([Glob])
  /// The primary link is Wi-Fi and its SSID is one of these, byte for byte.
  case ssid([SSID])
  /// The primary link is Wi-Fi and its SSID matches one of these patterns.
  case ssidGlob([Glob])
  /// The primary link is Wi-Fi and its access point has one of these hardware addresses.
  case bssid([MACAddress])
  /// The primary link is Wi-Fi and its SSID is on the list in this file.
  case ssidFile(SSIDFile)
  /// The primary link is Wi-Fi and is protected in one of these ways.
  case wifiSecurity([WiFiSecurity])
  /// One of the primary link's search domains matches the list.
  case dnsDomain(DomainList)
  /// The primary link's name servers, each or any of them, match one of these patterns.
  case dnsServer([DNSServerPattern], DNSServerQuantifier)
  /// The primary link has an address in one of these prefixes.
  case subnet([IPPrefix])
  /// A default gateway of the primary link has one of these addresses.
  case gateway([IPAddress])
  /// A default gateway of the primary link has one of these hardware addresses.
  case gatewayMAC([MACAddress])
  /// The probe was answered as the policy asks.
  case probe(Probe)
  /// The network holds the machine at a captive portal.
  case captivePortal(Bool)
  /// The internet is reached.
  case internet(Bool)
  /// The network is metered, by the word of this host's network manager.
  case metered(Bool)
  /// The clock is in the window.
  case time(TimeWindow)
  /// The machine runs on one of these sources of power.
  case power([PowerSource])

  package static let always = Condition.all([])
  package static let never = Condition.not(.always)
}

/// Whether each of the link's name servers has to be listed, or one is enough.
package enum DNSServerQuantifier: Hashable, Sendable {
  /// All of the link's servers match, as Apple's rules ask.
  case each
  /// One of the link's servers matches.
  case any
}

/// A list of SSIDs that others maintain, as it stood when the policy was loaded. It is watched like the policy.
package struct SSIDFile: Hashable, Sendable {
  package enum Contents: Hashable, Sendable {
    case entries(Set<SSID>)
    /// The file could not be read: whether an SSID is on it is unknown.
    case unreadable(because: String)
  }

  package let path: String
  package let contents: Contents

  package init(path: String, contents: Contents) {
    self.path = path
    self.contents = contents
  }
}

/// An entry under `dns-server`: an address, a prefix, or Apple's trailing wildcard (`17.*`, which is 17.0.0.0/8).
package struct DNSServerPattern: Hashable, Sendable, LosslessStringConvertible {
  package let prefix: IPPrefix
  package let description: String

  package init?(_ text: String) {
    guard let prefix = IPPrefix(text) ?? Self.wildcard(text) else { return nil }
    self.prefix = prefix
    description = text
  }

  /// One to three whole octets and `.*`.
  private static func wildcard(_ text: String) -> IPPrefix? {
    guard text.hasSuffix(".*") else { return nil }
    let octets = text.dropLast(2).split(separator: ".", omittingEmptySubsequences: false)
    guard (1...3).contains(octets.count) else { return nil }
    let padded = octets + Array(repeating: "0", count: 4 - octets.count)
    return IPPrefix("\(padded.joined(separator: "."))/\(8 * octets.count)")
  }
}
