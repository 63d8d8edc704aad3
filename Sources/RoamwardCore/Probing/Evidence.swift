package import NetworkTypes

/// A fact that has to be asked for on the network, and so is asked for only where it decides something.
package enum Evidence: Hashable, Sendable {
  case probe(Probe)
  case captivePortal
  case internet
}

extension Condition {
  /// What this key asks the network for; `nil` for keys that cost nothing, and for what is made of other keys.
  var evidence: Evidence? {
    switch self {
    case .probe(let probe): .probe(probe)
    case .captivePortal: .captivePortal
    case .internet: .internet
    default: nil
    }
  }
}

extension Probe {
  /// What it is called where its answer is told: the URL, and whatever else sets it apart. One that asks the same URL for another status or
  /// another key is another probe, with an answer of its own.
  package var name: String {
    let plain = Probe(url: url)
    var words = [url]
    if status != plain.status { words.append("status=\(status)") }
    if timeout != plain.timeout {
      words.append("timeout=\(timeout.components.seconds * 1000 + timeout.components.attoseconds / 1_000_000_000_000_000)ms")
    }
    return (words + pins.map { "pin=\($0)" }).joined(separator: " ")
  }
}

extension NetworkSnapshot {
  /// A probe's own answer, else what is said of its URL, else what is said of all others.
  package func answer(to probe: Probe) -> Fact<Bool> { probes[probe.name] ?? probes[probe.url] ?? otherProbes }

  package func fact(_ evidence: Evidence) -> Fact<Bool> {
    switch evidence {
    case .probe(let probe): answer(to: probe)
    case .captivePortal: captivePortal
    case .internet: internet
    }
  }

  /// The network as it would be if what probes found here the last time still held; `nil` where nothing is remembered.
  var asRemembered: NetworkSnapshot? {
    guard !rememberedProbes.isEmpty else { return nil }
    var snapshot = self
    for (name, answer) in rememberedProbes where snapshot.probes[name]?.value == nil { snapshot.probes[name] = .known(answer) }
    return snapshot
  }
}

extension PolicySet {
  /// Every probe that a rule or a named network asks for, each once.
  package var probes: [Probe] {
    keys.compactMap { if case .probe(let probe) = $0 { probe } else { nil } }.uniqued()
  }
}
