package import RoamwardCore

extension Underlay {
  /// The snapshot file's form, with a section `facts` beside it: where each fact comes from, which readers of the snapshot pass over.
  package var json: JSON {
    guard case .object(var members) = snapshot.json else { return snapshot.json }
    members.append(.init(key: "facts", value: facts))
    return .object(members)
  }

  /// By link, and of the machine: for each fact that was asked for, the sources in order, and why it is unknown where it is.
  private var facts: JSON {
    let links = snapshot.links.map { link in
      JSON.Member(
        key: link.name, value: object(provenance.links[link.name] ?? [:], of: FactKind.allCases.filter(\.isOfLink), link.unknownReason))
    }
    let machine = object(provenance.machine, of: FactKind.allCases.filter { !$0.isOfLink }, snapshot.unknownReason)
    return .object([.init(key: "links", value: .object(links)), .init(key: "machine", value: machine)])
  }

  private func object(_ origins: [FactKind: FactOrigin], of kinds: [FactKind], _ reason: (FactKind) -> String?) -> JSON {
    .object(
      kinds.compactMap { kind in
        let reason = reason(kind)
        guard origins[kind] != nil || reason != nil else { return nil }
        return JSON.Member(key: kind.rawValue, value: (origins[kind] ?? FactOrigin([])).json(unknown: reason))
      })
  }

  /// Gives unknown facts the reasons that `facts` has, and takes the sources from there; what cannot be read is left out.
  package mutating func takeFacts(from json: JSON) {
    for i in snapshot.links.indices {
      let name = snapshot.links[i].name
      guard let facts = json["facts"]?["links"]?[name] else { continue }
      for kind in FactKind.allCases where kind.isOfLink {
        guard let fact = facts[kind.rawValue] else { continue }
        provenance.links[name, default: [:]][kind] = FactOrigin(fact)
        if let reason = fact["unknown"]?.string { snapshot.links[i].makeUnknown(kind, because: reason) }
      }
    }
    for kind in FactKind.allCases where !kind.isOfLink {
      guard let fact = json["facts"]?["machine"]?[kind.rawValue] else { continue }
      provenance.machine[kind] = FactOrigin(fact)
      if let reason = fact["unknown"]?.string { snapshot.makeUnknown(kind, because: reason) }
    }
  }
}

extension FactOrigin {
  fileprivate func json(unknown reason: String?) -> JSON {
    var members: [JSON.Member] = []
    func add(_ key: String, _ value: JSON?) { if let value { members.append(.init(key: key, value: value)) } }
    add("source", believed.map { .string($0.source) })
    add("confirmed", confirmed.map { .integer($0) })
    add("unknown", reason.map { .string($0) })
    add("asked", .array(sources.map(\.json)))
    return .object(members)
  }

  fileprivate init(_ json: JSON) {
    self.init((json["asked"]?.array ?? []).compactMap(SourceAnswer.init), confirmed: json["confirmed"]?.integer)
  }
}

extension SourceAnswer {
  fileprivate var json: JSON {
    var members: [JSON.Member] = [.init(key: "source", value: .string(source)), .init(key: "said", value: .string(said))]
    if isBelieved { members.append(.init(key: "believed", value: true)) }
    if let because { members.append(.init(key: "because", value: .string(because))) }
    return .object(members)
  }

  fileprivate init?(_ json: JSON) {
    guard let source = json["source"]?.string, let said = json["said"]?.string else { return nil }
    self.init(source: source, said: said, isBelieved: json["believed"]?.bool ?? false, because: json["because"]?.string)
  }
}
