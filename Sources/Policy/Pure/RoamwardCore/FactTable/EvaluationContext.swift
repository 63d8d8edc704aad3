import NetworkTypes

/// The input of one decision: the snapshot with its primary link, selected once.
package struct EvaluationContext: Sendable {
  package let snapshot: NetworkSnapshot
  package let link: LinkFacts
  /// The marks of the facts, by place (`RuleSieve.Test`); empty: no rule is excluded without an evaluation.
  var marks: [Marks] = []
  /// Verdicts of named networks, as far as they were determined in advance.
  var networks: [String: Truth] = [:]

  /// The context of a snapshot; `nil` without a network: then no rule is evaluated.
  package init?(_ snapshot: NetworkSnapshot) {
    guard let link = snapshot.primaryLink else { return nil }
    self.snapshot = snapshot
    self.link = link.withRadioFactsOnWiFiAlone
  }

  /// Whether no source of this host can provide the fact. For names and name servers a source may still appear: leases and resolv.conf are
  /// written after the addresses.
  func isUnavailable(_ fact: FactKind) -> Bool {
    let declaration = fact.declaration
    if declaration.isWrittenLate { return false }
    return (declaration.isOfLink ? link.unavailable : snapshot.unavailable).contains(fact)
  }
}

extension LinkFacts {
  /// Whether a fact that only a radio has is known and present.
  package var showsRadio: Bool {
    FactTable.ofRadio.contains { if case .known(let value) = $0.value(self) { value != .absent } else { false } }
  }

  /// The link for rule evaluation. Only Wi-Fi has an SSID, an access point and a Wi-Fi security. Another link has none, whatever was
  /// reported or is unknown; a link of an unknown type that has one is Wi-Fi.
  fileprivate var withRadioFactsOnWiFiAlone: LinkFacts {
    switch type {
    case .known(.wifi): return self
    case .known:
      var link = self
      for fact in FactTable.ofRadio where fact.value(self) != .known(.absent) { _ = fact.set(&link, .absent) }
      return link
    case .unknown:
      guard showsRadio else { return self }
      var link = self
      link.type = .known(.wifi)
      return link
    }
  }
}
