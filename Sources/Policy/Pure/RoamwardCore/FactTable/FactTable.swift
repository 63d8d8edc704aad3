/// Every fact and every key of a match, each declared once, grouped by subject. A new one goes into the list of its file.
package enum FactTable {
  /// The facts of links, in the order of snapshot files.
  package static let ofLinks = (mediumFacts + connectionFacts + addressFacts + nameServerFacts).filter(\.isOfLink)
  /// The facts of the network, in the order of snapshot files.
  package static let ofNetwork = connectionFacts.filter { !$0.isOfLink }
  /// The facts of the machine, in the order of snapshot files.
  package static let ofHost = userFacts + machineFacts
  static let ofMachine = ofNetwork + ofHost
  /// All facts, with the link's name, which identifies the link in snapshot files.
  package static let all = [linkName] + ofLinks + ofMachine

  /// The keys, in the order of documents.
  package static let keys: [any AnyCriterionKey] = mediumKeys + nameServerKeys + addressKeys + connectionKeys + userKeys + machineKeys

  /// The keys with marks. The place of each is that of its fact's marks in `EvaluationContext`.
  static let markedKeys = keys.filter(\.isMarked)

  package static func fact(_ key: String) -> FactDeclaration? { byKey[key] }

  private static let byKey = Dictionary(all.map { ($0.key, $0) }) { first, _ in first }

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
  /// The fact's declaration in the table.
  package var declaration: FactDeclaration { FactTable.byKind[place] }

  private var place: Int { FactKind.places[self] ?? 0 }

  private static let places = Dictionary(uniqueKeysWithValues: zip(FactKind.allCases, FactKind.allCases.indices))

  /// Whether the fact belongs to each link, not to the machine.
  package var isOfLink: Bool { declaration.isOfLink }
}

extension Set<FactKind> {
  package static let all = Set(FactKind.allCases)

  /// Facts that programs of this host know, and the kernel does not.
  package static let ofHostServices = Set(FactTable.all.filter(\.isOfHostServices).compactMap(\.kind))

  /// Facts that come later than the network: from programs of this host, and by questions to the network. Until then they may be those of
  /// the network before.
  package static let ofLateSources = ofHostServices.union(FactTable.ofNetwork.compactMap(\.kind))
}
