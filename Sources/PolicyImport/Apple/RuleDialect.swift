/// What the same rule dictionaries mean, by the payload that they stand in.
enum RuleDialect: Hashable, Sendable {
  /// Rules start and stop a tunnel.
  case vpn
  /// Rules say where DNS settings are used: `Connect` means they are.
  case dnsSettings
}

/// How rules are read where Apple's own texts contradict each other.
package struct RuleReading: Hashable, Sendable {
  /// Whether one of the network's name servers in the list is enough. Apple's profile text says so; its programming interface and its
  /// former rule engine want all of them. One is enough for a hostile network to pass for the office.
  package var anyDNSServer = false

  package init(anyDNSServer: Bool = false) { self.anyDNSServer = anyDNSServer }
}
