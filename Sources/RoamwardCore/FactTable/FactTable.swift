/// Every fact and every key of a match, each declared once, by what they are about. A new one goes into the list of its file.
package enum FactTable {
  /// In the order of snapshot files.
  package static let ofLinks = (mediumFacts + connectionFacts + addressFacts + nameServerFacts).filter(\.isOfLink)
  /// Of the network, in the order of snapshot files.
  package static let ofNetwork = connectionFacts.filter { !$0.isOfLink }
  /// Of the machine, in the order of snapshot files.
  package static let ofHost = machineFacts
  static let ofMachine = ofNetwork + ofHost
  /// With the link's name, which stands for the link in snapshot files.
  package static let all = [linkName] + ofLinks + ofMachine

  /// In the order of documents.
  package static let keys: [any AnyCriterionKey] = mediumKeys + nameServerKeys + addressKeys + connectionKeys + machineKeys

  package static func fact(_ key: String) -> FactDeclaration? { all.first { $0.key == key } }

  /// Facts that only Wi-Fi has.
  package static let ofRadio = ofLinks.compactMap { fact -> FactAccess<LinkFacts>? in
    guard fact.isOfRadio, case .link(let access) = fact.place else { return nil }
    return access
  }

  fileprivate static let byKind: [FactDeclaration] = FactKind.allCases.map { kind in
    guard let fact = all.first(where: { $0.kind == kind }) else { preconditionFailure("no declaration of \(kind.rawValue)") }
    return fact
  }
}

extension FactKind {
  /// What the table has about it.
  package var declaration: FactDeclaration { FactTable.byKind[place] }

  private var place: Int { FactKind.places[self] ?? 0 }

  private static let places = Dictionary(uniqueKeysWithValues: zip(FactKind.allCases, FactKind.allCases.indices))

  /// Of each link, not of the machine.
  package var isOfLink: Bool { declaration.isOfLink }
}

extension Set<FactKind> {
  package static let all = Set(FactKind.allCases)

  /// What programs of this host know, and the kernel does not.
  package static let ofHostServices = Set(FactTable.all.filter(\.isOfHostServices).compactMap(\.kind))
}
