import NetworkTypes

/// What one decision looks at: the snapshot, and its primary link picked out once.
package struct EvaluationContext: Sendable {
  package let snapshot: NetworkSnapshot
  package let link: LinkFacts

  /// `nil` without a network: then there is nothing to judge.
  package init?(_ snapshot: NetworkSnapshot) {
    guard let link = snapshot.primaryLink else { return nil }
    self.snapshot = snapshot
    self.link = link.withRadioFactsOnWiFiAlone
  }

  /// Whether nobody here can give the fact. Of names and name servers a source may still come: leases and resolv.conf are written after the
  /// addresses.
  func isUnavailable(_ fact: FactKind) -> Bool {
    let declaration = fact.declaration
    if declaration.isWrittenLate { return false }
    return (declaration.isOfLink ? link.unavailable : snapshot.unavailable).contains(fact)
  }
}

extension LinkFacts {
  /// Whether a fact that only a radio has is known, and known to be there.
  package var showsRadio: Bool {
    FactTable.ofRadio.contains { if case .known(let value) = $0.value(self) { value != .absent } else { false } }
  }

  /// The link as rules judge it. Only Wi-Fi has an SSID, an access point and a Wi-Fi security: another link has none, whatever was said of
  /// it or is unknown; a link of an unknown type that has one is Wi-Fi.
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
