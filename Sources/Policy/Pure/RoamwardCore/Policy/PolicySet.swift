internal import Synchronization

/// All policy files merged into one set, on which the agent acts. Names are unique; the order is that of the files and of the keys in them.
package struct PolicySet: Sendable {
  package var networks: [NamedNetwork] { didSet { derived = DerivedOnce() } }
  package var tunnels: [TunnelPolicy] { didSet { derived = DerivedOnce() } }
  package var groups: [TunnelGroup] { didSet { derived = DerivedOnce() } }
  /// The settings of the agent's record; the defaults if no file has any.
  package var history: HistorySettings
  private var derived = DerivedOnce()

  package init(
    networks: [NamedNetwork] = [], tunnels: [TunnelPolicy] = [], groups: [TunnelGroup] = [], history: HistorySettings = HistorySettings()
  ) {
    self.networks = networks
    self.tunnels = tunnels
    self.groups = groups
    self.history = history
  }

  package func tunnel(named name: String) -> TunnelPolicy? { facts.places[name].map { tunnels[$0] } }

  package func hasTunnel(named name: String) -> Bool { facts.places[name] != nil }

  /// Whether the other set is a copy of this one; another set may have equal policies too.
  package func isSameValue(as other: PolicySet) -> Bool { derived === other.derived }

  /// All that follows from the policies alone. A pass asks for it many times, and a set changes rarely.
  var facts: PolicyFacts { derived.get { PolicyFacts(networks: networks, tunnels: tunnels, groups: groups) } }
}

extension PolicySet: Hashable {
  package static func == (a: PolicySet, b: PolicySet) -> Bool {
    a.networks == b.networks && a.tunnels == b.tunnels && a.groups == b.groups && a.history == b.history
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(networks)
    hasher.combine(tunnels)
    hasher.combine(groups)
    hasher.combine(history)
  }
}

/// The facts of one set of policies, from their first use on. Copies of the set share them; a change of it begins anew.
private final class DerivedOnce: Sendable {
  private let facts = Mutex<PolicyFacts?>(nil)

  func get(_ make: () -> PolicyFacts) -> PolicyFacts {
    facts.withLock { known in
      if let known { return known }
      let made = make()
      known = made
      return made
    }
  }
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
