package import RoamwardCore

/// Identifies policy sets by what they say: equal sets have equal identifications, wherever their files are read.
///
/// The agent identifies a set at each reload. Only tunnels that have changed since the last one are printed again.
package final class PolicyIdentifier {
  private let digest: (String) -> String
  private var last = PolicySet()
  private var tunnels: [String] = []

  /// `digest`: of a text; applied to each part, so no long text is made.
  package init(digest: @escaping (String) -> String) { self.digest = digest }

  package func identify(_ set: PolicySet) -> String {
    var places: [String: Int]?
    var new: [String] = []
    new.reserveCapacity(set.tunnels.count)
    for (i, tunnel) in set.tunnels.enumerated() {
      var place: Int? = last.tunnels.indices.contains(i) && last.tunnels[i].name == tunnel.name ? i : nil
      if place == nil, !last.tunnels.isEmpty {
        let known = places ?? Dictionary(last.tunnels.enumerated().map { ($1.name, $0) }) { first, _ in first }
        places = known
        place = known[tunnel.name]
      }
      if let place, last.tunnels[place] == tunnel {
        new.append(tunnels[place])
      } else {
        new.append(digest(PolicyPrinter.yaml(tunnels: [PrintableTunnel(tunnel)])))
      }
    }
    (last, tunnels) = (set, new)
    if !set.groups.isEmpty { new.append(digest(PolicyPrinter.yaml(groups: set.groups))) }
    return digest(([digest(PolicyPrinter.yaml(networks: set.networks))] + new).joined(separator: " "))
  }
}

extension PolicySet {
  /// The identification of one set.
  package func identification(_ digest: @escaping (String) -> String) -> String { PolicyIdentifier(digest: digest).identify(self) }
}
