package import NetworkTypes

extension LinkFacts {
  /// Makes a fact unknown; those of the machine are not the link's.
  package mutating func makeUnknown(_ kind: FactKind, reason: String) {
    if case .link(let access) = kind.declaration.place { access.makeUnknown(&self, reason) }
  }

  /// Why a fact is unknown; `nil` where it is known, or is not the link's.
  package func unknownReason(of kind: FactKind) -> String? {
    if case .link(let access) = kind.declaration.place { access.reason(self) } else { nil }
  }

  /// Whether a fact is unknown as yet: somebody may still say it.
  package func isAwaiting(_ kind: FactKind) -> Bool {
    unknownReason(of: kind).map { $0 != Fact<Bool>.notNeededReason } ?? false && !unavailable.contains(kind)
  }
}

extension NetworkSnapshot {
  /// Makes a fact of the machine unknown.
  package mutating func makeUnknown(_ kind: FactKind, reason: String) {
    if case .machine(let access) = kind.declaration.place { access.makeUnknown(&self, reason) }
  }

  /// Why a fact of the machine is unknown; `nil` where it is known, or is a link's.
  package func unknownReason(of kind: FactKind) -> String? {
    if case .machine(let access) = kind.declaration.place { access.reason(self) } else { nil }
  }
}

extension NetworkSnapshot {
  /// A fact of the machine, or of the link at the place.
  package func value(of fact: FactDeclaration, link: Int) -> Fact<FactValue> {
    switch fact.place {
    case .link(let access): access.value(links[link])
    case .machine(let access): access.value(self)
    }
  }

  /// Makes a fact of the machine, or of the link at the place, known. False, and nothing changes, for what is no value of it.
  package mutating func set(_ fact: FactDeclaration, to value: FactValue, link: Int) -> Bool {
    switch fact.place {
    case .link(let access): access.set(&links[link], value)
    case .machine(let access): access.set(&self, value)
    }
  }

  /// Makes a fact of the machine, or of the link at the place, unknown; not one that comes with every look.
  package mutating func makeUnknown(_ fact: FactDeclaration, reason: String, link: Int) {
    switch fact.place {
    case .link(let access): access.makeUnknown(&links[link], reason)
    case .machine(let access): access.makeUnknown(&self, reason)
    }
  }
}

extension SnapshotWithSources {
  package init(snapshot: NetworkSnapshot, provenance: Provenance) {
    self.snapshot = snapshot
    self.provenance = provenance
  }

  /// Fills in from another look at the same machine what nobody asked about in this one.
  package mutating func complete(from other: SnapshotWithSources) {
    for i in snapshot.links.indices {
      let name = snapshot.links[i].name
      guard let there = other.snapshot.links.first(where: { $0.name == name }) else { continue }
      for fact in FactTable.ofLinks {
        guard case .link(let access) = fact.place, let kind = fact.kind, access.isMissing(in: snapshot.links[i]) else { continue }
        access.take(&snapshot.links[i], there)
        provenance.links[name, default: [:]][kind] = other.provenance.links[name]?[kind]
      }
    }
    for fact in FactTable.ofMachine {
      guard case .machine(let access) = fact.place, let kind = fact.kind, access.isMissing(in: snapshot) else { continue }
      access.take(&snapshot, other.snapshot)
      provenance.machine[kind] = other.provenance.machine[kind]
    }
  }
}

extension FactAccess {
  fileprivate func isMissing(in holder: Holder) -> Bool { reason(holder) == Fact<Bool>.notNeededReason }
}
