package import NetworkTypes

/// When a rule or a named network holds: a tree over facts of the underlay's primary link. Evaluates to yes, no or unknown.
package indirect enum Condition: Hashable, Sendable {
  /// All have to hold; an empty list always does.
  case all([Condition])
  /// One has to hold; an empty list always does, as an absent key would.
  case any([Condition])
  case not(Condition)
  /// A network named in any file.
  case network([String])

  case interface([InterfaceType])
  case interfaceName([Glob])
  case ssid([SSID])
  case ssidGlob([Glob])
  case bssid([MACAddress])
  case ssidFile(SSIDFile)
  case wifiSecurity([WiFiSecurity])
  case dnsDomain(DomainList)
  case dnsServer([DNSServerPattern], DNSServerQuantifier)
  case subnet([IPPrefix])
  case gateway([IPAddress])
  case gatewayMAC([MACAddress])
  case probe(Probe)
  case captivePortal(Bool)
  case internet(Bool)
  case metered(Bool)
  case time(TimeWindow)
  case power([PowerSource])

  package static let always = Condition.all([])
  package static let never = Condition.not(.always)
}

/// Whether each of the link's name servers has to be listed, or one is enough.
package enum DNSServerQuantifier: Hashable, Sendable {
  case each, any
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
