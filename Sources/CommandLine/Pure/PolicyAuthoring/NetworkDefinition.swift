internal import NetworkTypes
internal import PolicySource
package import RoamwardCore

/// A named network as a list of alternatives: the machine is on it if one of them matches.
package struct NetworkDefinition: Equatable, Sendable {
  package let name: String
  package var alternatives: [Condition]

  package init(name: String, alternatives: [Condition]) {
    self.name = name
    self.alternatives = alternatives
  }

  package init(_ network: NamedNetwork) {
    name = network.name
    alternatives = Self.alternatives(of: network.condition)
  }

  private static func alternatives(of condition: Condition) -> [Condition] {
    switch condition {
    case .any(let parts): parts
    case .all(let parts) where parts.count == 1: alternatives(of: parts[0])
    default: [condition]
    }
  }

  /// The network as a policy file defines it.
  package func network(at location: SourceLocation) -> NamedNetwork {
    NamedNetwork(name: name, condition: .all([.any(alternatives.isEmpty ? [.noNetwork] : alternatives)]), location: location)
  }

  /// Adds an alternative. `false`: it is there already.
  package mutating func add(_ condition: Condition) -> Bool {
    guard !alternatives.contains(where: { $0.isSame(as: condition) }) else { return false }
    alternatives.removeAll { $0.isSame(as: .noNetwork) }
    alternatives.append(condition)
    return true
  }

  /// The places of the alternatives that match on this network.
  package func matches(on snapshot: NetworkSnapshot, networks: [NamedNetwork]) -> [Int] {
    alternatives.indices.filter { place in
      let one = "\u{0}alternative"
      let location = SourceLocation(file: "", line: 1, column: 1)
      let evaluator = Evaluator(networks: networks + [NamedNetwork(name: one, condition: alternatives[place], location: location)])
      return evaluator.isOn(anyOf: [one], snapshot)
    }
  }
}

extension Condition {
  /// A network that does not exist: no gateway has this hardware address. It keeps the place of the first real one, because an empty list
  /// would match everywhere.
  package static let noNetwork = Condition.all([.gatewayMAC([MACAddress(bytes: [0, 0, 0, 0, 0, 0])].compactMap(\.self))])

  /// Whether both are written in the same way.
  fileprivate func isSame(as other: Condition) -> Bool {
    self == other || PolicyPrinter.listEntry(of: self, indent: 2) == PolicyPrinter.listEntry(of: other, indent: 2)
  }
}

extension PolicySet {
  /// The networks on which some rule disconnects, also through other networks; sorted.
  package var networksToDisconnectOn: [String] { networks(of: { $0.action == .disconnect }) }

  /// The networks that some rule names, also through other networks; sorted.
  package var networksInRules: [String] { networks(of: { _ in true }) }

  private func networks(of isWanted: (Rule) -> Bool) -> [String] {
    var found: Set<String> = []
    var rest = tunnels.flatMap(\.onDemand.rules).filter(isWanted).flatMap(\.match.networksNamed)
    while let name = rest.popLast() {
      if found.insert(name).inserted, let network = networks.first(where: { $0.name == name }) { rest += network.condition.networksNamed }
    }
    return found.sorted()
  }
}
