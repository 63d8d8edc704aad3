package import NetworkTypes

extension NetworkSnapshot {
  package func fact(_ evidence: Evidence) -> Fact<Bool> {
    switch evidence {
    case .probe(let probe): answer(to: probe)
    case .captivePortal: captivePortal
    case .internet: internet
    }
  }

  /// The network as it would be if the remembered probe results still applied; `nil` without any.
  var asRemembered: NetworkSnapshot? {
    guard !rememberedProbes.isEmpty else { return nil }
    var snapshot = self
    for (name, answer) in rememberedProbes where snapshot.probes[name]?.value == nil { snapshot.probes[name] = .known(answer) }
    return snapshot
  }
}
