package import NetworkTypes
package import RoamwardCore

/// Finds likely mistakes in policies, in order of place.
///
/// Rules are checked by exact reasoning over their matches. A rule is called dead if and only if it decides on no network, whatever is
/// known or unknown of it. If that would take too long, nothing is reported. Files in `unreliable` could not be read completely: their
/// tunnels are not checked, and no conclusions follow from their networks. `ownAddresses` are those of the machine that the policies are
/// for.
package func lint(_ policies: PolicySet, unreliable: Set<String> = [], ownAddresses: Set<IPAddress> = []) -> [LintFinding] {
  let networks = NetworkTable(policies.networks, unreliable: unreliable)
  let tunnels = policies.tunnels.filter { $0.isEnabled && !unreliable.contains($0.location.file) }
  var findings: [LintFinding] = []
  for tunnel in tunnels {
    findings += pointlessExclusions(in: tunnel) + unroutedServers(of: tunnel) + namesOutside(of: tunnel)
    findings += links(of: tunnel, ownAddresses: ownAddresses)
    guard tunnel.onDemand.isEnabled else { continue }
    findings += lintRules(of: tunnel, networks: networks) + probesInside(tunnel, networks: networks)
  }
  for network in policies.networks where !unreliable.contains(network.location.file) {
    findings += lintNetwork(network, networks: networks)
  }
  if unreliable.isEmpty { findings += unusedNetworks(in: policies) }
  findings += exclusiveTunnels(among: tunnels, networks: networks)
  findings += overlappingRoutes(of: tunnels) + overlappingDomains(of: tunnels) + endpointsInside(tunnels)
  return findings.sorted { a, b in
    (a.location.file, a.location.line, a.location.column, a.kind.rawValue, a.message)
      < (b.location.file, b.location.line, b.location.column, b.kind.rawValue, b.message)
  }
}

/// The named networks, as the conditions of rules find them.
struct NetworkTable {
  enum Entry {
    case defined(NamedNetwork)
    /// Its file could not be read completely: it may match or not.
    case opaque
    /// It is in no file: it never matches.
    case missing
  }

  private let byName: [String: NamedNetwork]
  private let unreliable: Set<String>

  init(_ networks: [NamedNetwork], unreliable: Set<String> = []) {
    byName = Dictionary(networks.map { ($0.name, $0) }) { first, _ in first }
    self.unreliable = unreliable
  }

  subscript(name: String) -> Entry {
    guard let network = byName[name] else { return unreliable.isEmpty ? .missing : .opaque }
    return unreliable.contains(network.location.file) ? .opaque : .defined(network)
  }

  /// The conditions, and those of all networks that they name, each once.
  func closure(of conditions: [Condition]) -> [Condition] {
    var result = conditions
    var seen = Set<String>()
    var i = 0
    while i < result.count {
      for name in result[i].networksNamed where seen.insert(name).inserted {
        if case .defined(let network) = self[name] { result.append(network.condition) }
      }
      i += 1
    }
    return result
  }
}

extension Condition {
  /// Every key below the condition, without those of named networks.
  func forEachKey(_ body: (Condition) -> Void) {
    switch self {
    case .all(let parts), .any(let parts): for part in parts { part.forEachKey(body) }
    case .not(let part): part.forEachKey(body)
    default: body(self)
    }
  }
}
