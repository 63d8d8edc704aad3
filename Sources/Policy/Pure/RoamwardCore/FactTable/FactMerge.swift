package import NetworkTypes

extension LinkFacts {
  /// Makes a fact unknown; ignores facts of the machine.
  package mutating func makeUnknown(_ kind: FactKind, reason: String) {
    if case .link(let access) = kind.declaration.place { access.makeUnknown(&self, reason) }
  }

  /// The reason why a fact is unknown; `nil` if it is known, or is not the link's.
  package func unknownReason(of kind: FactKind) -> String? {
    if case .link(let access) = kind.declaration.place { access.reason(self) } else { nil }
  }

  /// Whether a fact is unknown for now: a source may still report it.
  package func isAwaiting(_ kind: FactKind) -> Bool {
    unknownReason(of: kind).map { $0 != Fact<Bool>.notNeededReason } ?? false && !unavailable.contains(kind)
  }
}

extension NetworkSnapshot {
  /// Makes a fact of the machine unknown.
  package mutating func makeUnknown(_ kind: FactKind, reason: String) {
    if case .machine(let access) = kind.declaration.place { access.makeUnknown(&self, reason) }
  }

  /// The reason why a fact of the machine is unknown; `nil` if it is known, or is a link's.
  package func unknownReason(of kind: FactKind) -> String? {
    if case .machine(let access) = kind.declaration.place { access.reason(self) } else { nil }
  }
}

extension NetworkSnapshot {
  /// The same network before late sources have answered about it: nobody has to have asked for them.
  var beforeLateSources: NetworkSnapshot {
    var early = self
    for kind in Set<FactKind>.ofLateSources {
      let fact = kind.declaration
      for link in fact.isOfLink ? Array(links.indices) : [0] { early.makeUnknown(fact, reason: "the network has just changed", link: link) }
    }
    for probe in early.probes.keys { early.probes[probe] = .unknown(reason: "the network has just changed") }
    early.otherProbes = .unknown(reason: "the network has just changed")
    return early
  }
}

extension NetworkSnapshot {
  /// The value of a fact of the machine, or of the link at this index.
  package func value(of fact: FactDeclaration, link: Int) -> Fact<FactValue> {
    switch fact.place {
    case .link(let access): access.value(links[link])
    case .machine(let access): access.value(self)
    }
  }

  /// Sets a fact of the machine, or of the link at this index. Returns false, and changes nothing, if this is not a value of the fact.
  package mutating func set(_ fact: FactDeclaration, to value: FactValue, link: Int) -> Bool {
    let isSet =
      switch fact.place {
      case .link(let access): access.set(&links[link], value)
      case .machine(let access): access.set(&self, value)
      }
    if isSet { recordAvailability(of: fact, isUnavailable: false, link: link) }
    return isSet
  }

  /// Makes a fact of the machine, or of the link at this index, unknown; ignores facts that come with every observation.
  package mutating func makeUnknown(_ fact: FactDeclaration, reason: String, link: Int) {
    switch fact.place {
    case .link(let access): access.makeUnknown(&links[link], reason)
    case .machine(let access): access.makeUnknown(&self, reason)
    }
    recordAvailability(of: fact, isUnavailable: false, link: link)
  }

  /// The same, and no source of the host can provide it: decisions do not wait for it.
  package mutating func makeUnavailable(_ fact: FactDeclaration, reason: String, link: Int) {
    makeUnknown(fact, reason: reason, link: link)
    recordAvailability(of: fact, isUnavailable: true, link: link)
  }

  private mutating func recordAvailability(of fact: FactDeclaration, isUnavailable: Bool, link: Int) {
    guard let kind = fact.kind else { return }
    switch (fact.place, isUnavailable) {
    case (.link, true): links[link].unavailable.insert(kind)
    case (.link, false): links[link].unavailable.remove(kind)
    case (.machine, true): unavailable.insert(kind)
    case (.machine, false): unavailable.remove(kind)
    }
  }
}

extension SnapshotWithSources {
  package init(snapshot: NetworkSnapshot, provenance: Provenance) {
    self.snapshot = snapshot
    self.provenance = provenance
  }

  /// Adds facts from another observation of the same machine that were not requested in this one.
  package mutating func complete(from other: SnapshotWithSources) {
    for i in snapshot.links.indices {
      let name = snapshot.links[i].name
      guard let there = other.snapshot.links.first(where: { $0.name == name }) else { continue }
      for fact in FactTable.ofLinks {
        guard case .link(let access) = fact.place, let kind = fact.kind, access.isMissing(in: snapshot.links[i]) else { continue }
        access.take(&snapshot.links[i], there)
        if there.unavailable.contains(kind) { snapshot.links[i].unavailable.insert(kind) }
        provenance.links[name, default: [:]][kind] = other.provenance.links[name]?[kind]
      }
    }
    for fact in FactTable.ofMachine {
      guard case .machine(let access) = fact.place, let kind = fact.kind, access.isMissing(in: snapshot) else { continue }
      access.take(&snapshot, other.snapshot)
      if other.snapshot.unavailable.contains(kind) { snapshot.unavailable.insert(kind) }
      provenance.machine[kind] = other.provenance.machine[kind]
    }
  }
}

extension FactAccess {
  fileprivate func isMissing(in holder: Holder) -> Bool { reason(holder) == Fact<Bool>.notNeededReason }
}
