import KernelModel
import NetworkTypes
import RoamwardCore

extension TunnelPolicy {
  /// Whether routes, name servers and the MTU are applied: not without a link (``unappliedSettings(of:)``).
  var isApplied: Bool { linkName != nil }

  /// True if the tunnel takes an address. The longest prefix that contains it decides; an exclusion takes precedence over an equal
  /// inclusion.
  func takes(_ address: IPAddress, within includes: PrefixList) -> Bool {
    let included = includes.all.filter { $0.contains(address) }.map(\.length).max() ?? -1
    let excluded = (routes?.exclude.all ?? []).filter { $0.contains(address) }.map(\.length).max() ?? -1
    return included > excluded
  }

  /// The domains that the policy names for the tunnel's servers, without `.`, which means every name.
  var matchDomainNames: [DomainName] {
    (dns?.matchDomains ?? []).compactMap { if case .within(let name) = $0 { name } else { nil } }
  }
}

extension DomainName {
  /// The name and all its parent names, starting with the longest.
  var selfAndParents: [DomainName] {
    var names: [DomainName] = []
    var rest = text[...]
    while let name = DomainName(String(rest)) {
      names.append(name)
      guard let dot = rest.firstIndex(of: ".") else { break }
      rest = rest[rest.index(after: dot)...]
    }
    return names
  }
}
