import NetworkTypes
import PolicyLint
import RoamwardCore
import Testing

/// Every network of a universe, one by one, each fact of it known or unknown, and every answer of its lists of SSIDs: which rules decide,
/// by the real evaluator, once the decision waits no longer.
struct EveryNetwork {
  /// Rules that decide on some network, counted from 1; 0 where on some network none does.
  private(set) var reached = Set<Int>()
  /// The same on networks of which all is known.
  private(set) var reachedByKnown = Set<Int>()
  /// Rules that hold on some network, whatever rules are before them.
  private(set) var holding = Set<Int>()

  /// `nil` where there are too many.
  init?(_ rules: [Rule], networks: [NamedNetwork], limit: Int = 100_000) {
    let conditions = rules.map(\.match) + networks.map(\.condition)
    guard let universe = FactUniverse(of: conditions) else { return nil }
    let criteria = conditions.flatMap(\.criteria)
    let facts = FactTable.all.filter { !universe.values(of: $0.key).isEmpty }
    // Facts that no condition asks for may be anything, except for the type: only Wi-Fi has facts of a radio.
    let radio = facts.contains(where: \.isOfRadio)
    var scenes = [NetworkSnapshot(primary: "link", links: [LinkFacts(name: "link", type: .known(radio ? .wifi : .other))])]
    let unknown = "it is varied"
    func vary<Value>(_ values: [Value], _ change: (inout NetworkSnapshot, Value) -> Void) -> Bool {
      guard scenes.count * values.count <= limit else { return false }
      scenes = scenes.flatMap { scene in
        values.map { value in
          var scene = scene
          change(&scene, value)
          scene.primary = scene.links[0].name
          return scene
        }
      }
      return true
    }
    for fact in facts {
      let values = universe.values(of: fact.key)
      let texts = values.compactMap { if case .text(let text) = $0 { text } else { nil } }
      let known = fact.isList ? subsets(texts).map { FactValue.list($0) } : values
      let all = known.map { Fact.known($0) } + (fact.kind == nil ? [] : [.unknown(reason: unknown)])
      let isVaried = vary(all) { scene, value in
        switch value {
        case .known(let value): if !scene.set(fact, to: value, link: 0) { Issue.record("\(fact.key) takes no \(value)") }
        case .unknown(let reason): scene.makeUnknown(fact, reason: reason, link: 0)
        }
      }
      guard isVaried else { return nil }
    }
    for url in ["https://a.example/", "https://b.example/"] where criteria.contains(where: { $0.wanted(of: FactTable.probe)?.url == url }) {
      guard vary([.known(true), .known(false), .unknown(reason: unknown)], { $0.probes[url] = $1 }) else { return nil }
    }
    let everyName = Set(
      universe.values(of: FactKind.ssid.rawValue).compactMap { if case .text(let text) = $0 { SSID(text) } else { nil } })
    let hasList = criteria.contains { $0.wanted(of: FactTable.ssidFile) != nil }
    for list in hasList ? [.entries(everyName), .entries([]), .unreadable(reason: unknown)] : [SSIDFile.Contents.entries([])] {
      let evaluator = Evaluator(
        networks: networks.map { NamedNetwork(name: $0.name, condition: $0.condition.listing(list), location: $0.location) })
      let listed = rules.map {
        Rule(match: $0.match.listing(list), action: $0.action, onUnknown: $0.onUnknown, location: $0.location)
      }
      func tunnel(_ rules: [Rule]) -> TunnelPolicy {
        TunnelPolicy(
          name: "t", provider: .command(CommandProviderConfiguration(up: [], down: [])), onDemand: OnDemand(rules: rules),
          location: rules[0].location)
      }
      let (whole, each) = (tunnel(listed), listed.map { tunnel([$0]) })
      for scene in scenes {
        let alone = each.map { evaluator.decide($0, on: scene, explaining: .none) }
        for (i, decision) in alone.enumerated() where decision.rule != nil && decision.outcome != .pending { holding.insert(i + 1) }
        let decider = evaluator.decide(whole, on: scene, patience: .isOver, explaining: .none).rule?.index ?? 0
        reached.insert(decider)
        if !alone.contains(where: { $0.outcome == .pending }) { reachedByKnown.insert(decider) }
      }
    }
  }
}

private func subsets<Value>(_ values: [Value]) -> [[Value]] {
  (0..<1 << values.count).map { bits in values.indices.filter { bits >> $0 & 1 == 1 }.map { values[$0] } }
}

extension Condition {
  fileprivate var criteria: [Condition] {
    switch self {
    case .all(let parts), .any(let parts): parts.flatMap(\.criteria)
    case .not(let part): part.criteria
    case .criterion: [self]
    case .network: []
    }
  }

  /// With this in every list of SSIDs.
  fileprivate func listing(_ list: SSIDFile.Contents) -> Condition {
    switch self {
    case .all(let parts): .all(parts.map { $0.listing(list) })
    case .any(let parts): .any(parts.map { $0.listing(list) })
    case .not(let part): .not(part.listing(list))
    case .criterion, .network: wanted(of: FactTable.ssidFile).map { .ssidFile(SSIDFile(path: $0.path, contents: list)) } ?? self
    }
  }
}
