/// All policy files merged into one set, on which the agent acts. Names are unique; the order is that of the files and of the keys in them.
package struct PolicySet: Hashable, Sendable {
  package var networks: [NamedNetwork]
  package var tunnels: [TunnelPolicy]
  /// The settings of the agent's record; the defaults if no file has any.
  package var history: HistorySettings

  package init(networks: [NamedNetwork] = [], tunnels: [TunnelPolicy] = [], history: HistorySettings = HistorySettings()) {
    self.networks = networks
    self.tunnels = tunnels
    self.history = history
  }

  package func tunnel(named name: String) -> TunnelPolicy? { tunnels.first { $0.name == name } }
}

/// A condition with a name, which rules of any file may use.
package struct NamedNetwork: Hashable, Sendable {
  package let name: String
  package let condition: Condition
  package let location: SourceLocation

  package init(name: String, condition: Condition, location: SourceLocation) {
    self.name = name
    self.condition = condition
    self.location = location
  }
}
