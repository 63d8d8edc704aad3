package import NetworkTypes

/// Chooses an address of an endpoint's name: the first of a family for which the underlay has a gateway; if it does not answer, the next.
/// An address that has answered is used again before all others.
package struct EndpointChoice: Equatable, Sendable {
  private var lastAddresses: [DomainName: IPAddress] = [:]
  private var silent: Set<IPAddress> = []
  private var answered: Set<IPAddress> = []

  package init() {}

  /// The address to use; `nil` without addresses. If none of them has answered, the choice starts again with the first.
  package mutating func choose(among addresses: [IPAddress], of name: DomainName, families: Set<IPAddress.Family>) -> IPAddress? {
    let usable = addresses.filter { families.contains($0.family) }
    let ordered = usable.isEmpty ? addresses : usable
    if ordered.allSatisfy(silent.contains) { silent.subtract(ordered) }
    let open = ordered.filter { !silent.contains($0) }
    // Servers answer with the addresses of a name in turns.
    let last = lastAddresses[name]
    let chosen = open.first(where: answered.contains) ?? open.first { $0 == last } ?? open.first
    if let chosen { lastAddresses[name] = chosen }
    return chosen
  }

  /// The address that was chosen last.
  package func last(of name: DomainName) -> IPAddress? { lastAddresses[name] }

  /// Forgets the silent addresses: on another network they may answer.
  package mutating func forgetSilence() { silent = [] }

  package mutating func record(_ address: IPAddress, isAnswered: Bool) {
    if isAnswered {
      answered.insert(address)
      silent.remove(address)
    } else {
      answered.remove(address)
      silent.insert(address)
    }
  }
}
