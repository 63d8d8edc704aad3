package import JSON
internal import NetworkTypes
package import RoamwardCore

extension NetworkSnapshot {
  /// The snapshot file's form: `roamward network --json` prints it and `evaluate --network` reads it, to the same snapshot except for the
  /// reasons of unknown facts. Facts with their default value are not printed.
  package var json: JSON {
    var members: [JSON.Member] = [.init(key: "version", value: 1), .init(key: "primary", value: JSON(primary))]
    func add(_ key: String, _ value: JSON) { members.append(JSON.Member(key: key, value: value)) }
    add("links", .object(links.map { JSON.Member(key: $0.name, value: $0.json) }))
    members += FactTable.ofNetwork.compactMap { $0.member(of: self) }
    if !probes.isEmpty {
      add("probes", .object(probes.sorted { $0.key < $1.key }.map { JSON.Member(key: $0.key, value: probeWord($0.value)) }))
    }
    if otherProbes != .known(false) { add("other-probes", probeWord(otherProbes)) }
    if !rememberedProbes.isEmpty {
      let members = rememberedProbes.sorted { $0.key < $1.key }.map { JSON.Member(key: $0.key, value: $0.value ? "ok" : "fail") }
      add("remembered-probes", .object(members))
    }
    if let portalAPI { add("captive-portal-api", .string(portalAPI)) }
    members += FactTable.ofHost.compactMap { $0.member(of: self) }
    return .object(members)
  }
}

extension LinkFacts {
  /// The link as JSON. Keys of unknown facts are listed under `unknown`, or under `unavailable` if no source of the host can give them; an
  /// absent key is known to be absent.
  fileprivate var json: JSON {
    var members: [JSON.Member] = []
    var unknown: [String] = []
    var unavailable: [String] = []
    for fact in FactTable.ofLinks {
      guard case .link(let access) = fact.place else { continue }
      switch access.value(self) {
      case .unknown: if fact.kind.map(self.unavailable.contains) ?? false { unavailable.append(fact.key) } else { unknown.append(fact.key) }
      case .known(let value): if fact.silence != .means(value) { members.append(JSON.Member(key: fact.key, value: value.json)) }
      }
    }
    members.append(JSON.Member(key: "mtu", value: .integer(Int64(mtu))))
    if !unknown.isEmpty { members.append(JSON.Member(key: "unknown", value: JSON(unknown))) }
    if !unavailable.isEmpty { members.append(JSON.Member(key: "unavailable", value: JSON(unavailable))) }
    return .object(members)
  }
}

extension FactDeclaration {
  /// A fact of the machine as a member of a snapshot; `nil` for its default value.
  fileprivate func member(of snapshot: NetworkSnapshot) -> JSON.Member? {
    guard case .machine(let access) = place else { return nil }
    switch access.value(snapshot) {
    case .known(let value): return silence == .means(value) ? nil : JSON.Member(key: key, value: value.json)
    case .unknown:
      if let kind, snapshot.unavailable.contains(kind) { return JSON.Member(key: key, value: "unavailable") }
      return silence == .isUnknown ? nil : JSON.Member(key: key, value: "unknown")
    }
  }
}

extension FactValue {
  fileprivate var json: JSON {
    switch self {
    case .absent: .null
    case .flag(let value): .bool(value)
    case .text(let text): .string(text)
    case .list(let texts): JSON(texts)
    }
  }
}

private func probeWord(_ fact: Fact<Bool>) -> JSON { fact.value.map { $0 ? "ok" : "fail" } ?? "unknown" }
