/// The meaning of the same rule dictionaries, by their payload.
enum RuleDialect: Equatable, Sendable {
  /// Rules start and stop a tunnel.
  case vpn
  /// Rules select where DNS settings are used: `Connect` means that they are.
  case dnsSettings
}

/// The interpretation of rules where Apple's own texts contradict each other.
package struct RuleReading: Equatable, Sendable {
  /// One of the network's name servers in the list is enough. Apple's profile documentation says so; its programming interface and its
  /// former rule engine require all of them. If one is enough, a hostile network can pass for the office.
  package var anyDNSServer = false

  package init(anyDNSServer: Bool = false) { self.anyDNSServer = anyDNSServer }
}
