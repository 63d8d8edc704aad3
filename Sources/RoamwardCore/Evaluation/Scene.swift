import NetworkTypes

/// What one decision looks at: the snapshot, and its primary link picked out once.
struct Scene {
  let snapshot: NetworkSnapshot
  let link: LinkFacts

  /// `nil` without a network: then there is nothing to judge.
  init?(_ snapshot: NetworkSnapshot) {
    guard let link = snapshot.primaryLink else { return nil }
    self.snapshot = snapshot
    self.link = link.withRadioFactsOnWiFiAlone
  }

  /// Whether nobody here can give the fact. Of names and name servers a source may still come: leases and resolv.conf are written after the
  /// addresses.
  func isUnavailable(_ fact: FactKind) -> Bool {
    if fact == .dnsServers || fact == .searchDomains { return false }
    return (fact.isOfLink ? link.unavailable : snapshot.unavailable).contains(fact)
  }
}

extension LinkFacts {
  /// The link as rules judge it. Only Wi-Fi has an SSID, an access point and a Wi-Fi security: another link has none, whatever was said of
  /// it or is unknown; a link of an unknown type that has one is Wi-Fi.
  fileprivate var withRadioFactsOnWiFiAlone: LinkFacts {
    switch type {
    case .known(.wifi): return self
    case .known:
      if ssid == .known(nil), bssid == .known(nil), wifiSecurity == .known(nil) { return self }
      var link = self
      (link.ssid, link.bssid, link.wifiSecurity) = (.known(nil), .known(nil), .known(nil))
      return link
    case .unknown:
      guard isThere(ssid) || isThere(bssid) || isThere(wifiSecurity) else { return self }
      var link = self
      link.type = .known(.wifi)
      return link
    }
  }
}

/// Whether it is known, and known not to be absent.
private func isThere<Value>(_ fact: Fact<Value?>) -> Bool { if case .known(.some) = fact { true } else { false } }
