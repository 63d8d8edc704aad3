package import NetworkTypes

/// The effect of a name look-up under `evaluate-connection`.
package struct ConnectionRule: Hashable, Sendable {
  package enum Action: String, Equatable, Sendable, CaseIterable {
    /// Starts the tunnel if the name does not resolve, the servers give an address inside the tunnel, or the probe fails.
    case connectIfNeeded = "connect-if-needed"
    /// Starts the tunnel on any look-up.
    case connectAlways = "connect-always"
    /// Does nothing, and ignores the entries after it.
    case neverConnect = "never-connect"
  }

  package var domains: DomainList
  package var action: Action
  /// The servers that have to be able to answer for these domains.
  package var servers: [IPAddress]
  package var probe: Probe?
  package var location: SourceLocation

  package init(domains: DomainList, action: Action, servers: [IPAddress] = [], probe: Probe? = nil, location: SourceLocation) {
    self.domains = domains
    self.action = action
    self.servers = servers
    self.probe = probe
    self.location = location
  }
}

extension [ConnectionRule] {
  /// The first entry that contains the name.
  package func first(for name: DomainName) -> ConnectionRule? { first { $0.domains.holds(name) } }
}
