import KernelModel
import NetworkTypes

/// Puts the facts of links together, and keeps note of where each comes from.
struct FactGathering {
  private let sources: UnderlaySources
  private let names: Set<String>
  private(set) var provenance = Provenance()
  /// Facts that no source can give, of the machine; those of a link are noted with it.
  private(set) var unavailable: Set<FactKind> = []
  private var unavailableOfLink: Set<FactKind> = []

  init(_ sources: UnderlaySources) {
    self.sources = sources
    names = Set(sources.kernel.links.map(\.name))
  }

  mutating func link(_ link: Link, isPrimary: Bool, addresses: [InterfaceAddress], gateways: [IPAddress]) -> LinkFacts {
    let question = question(about: link, isPrimary: isPrimary)
    let (type, ssid) = medium(of: link, isPrimary: isPrimary)
    let wifi = sources.wifi[carrier(of: link)]
    let isNamedByFile = wifi == nil && type.fact == .known(.wifi)
    let name = link.name
    unavailableOfLink = []
    var facts = LinkFacts(
      name: name, type: note(.type, name, type), ssid: note(.ssid, name, ssid),
      bssid: note(.bssid, name) { $0.radio(wifi?.bssid, isNamedByFile, "access point") { $0?.description ?? "none" } },
      wifiSecurity: note(.wifiSecurity, name) { $0.radio(wifi?.security, isNamedByFile, "security") { $0?.rawValue ?? "none" } },
      metered: note(.metered, name) { $0.sources.host.metered(question, type.fact.value, at: $0.sources.lookedAt) }, addresses: addresses,
      gateways: gateways, gatewayMAC: note(.gatewayMAC, name) { $0.hardwareAddress(of: gateways.first, on: link) },
      dnsServers: note(.dnsServers, name) { $0.sources.host.servers(of: question, at: $0.sources.lookedAt) },
      searchDomains: note(.searchDomains, name) { $0.sources.host.domains(of: question, at: $0.sources.lookedAt) }, mtu: link.mtu,
      device: link.device)
    facts.unavailable = unavailableOfLink
    return facts
  }

  /// The portal API that the network told the DHCP client of; asked for together with the fact that it is for.
  func portalAPI(of primary: Link) -> String? {
    guard sources.needed.contains(.captivePortal) || sources.needed.contains(.internet) else { return nil }
    return sources.host.lease(of: question(about: primary, isPrimary: true))?.portalAPI
  }

  mutating func captivePortal(of primary: Link?) -> Fact<Bool> {
    note(.captivePortal) { facts in
      primary.map { facts.sources.host.captivePortal(facts.question(about: $0, isPrimary: true)) } ?? withoutNetwork
    }
  }

  mutating func internet(of primary: Link?) -> Fact<Bool> {
    note(.internet) { facts in
      primary.map { facts.sources.host.internet(facts.question(about: $0, isPrimary: true)) } ?? withoutNetwork
    }
  }

  var time: Fact<LocalTime> {
    mutating get { note(.time) { $0.direct("clock and time zone", $0.sources.time) { "\($0.day) \(clockText(minute: $0.second / 60))" } } }
  }

  var power: Fact<PowerSource> {
    mutating get { note(.power) { $0.direct("/sys/class/power_supply", $0.sources.power) { $0.rawValue } } }
  }

  // MARK: One fact

  private func question(about link: Link, isPrimary: Bool) -> LinkInQuestion {
    LinkInQuestion(
      name: link.name, index: link.index.value, hardwareAddress: link.address,
      addresses: sources.kernel.addresses.filter { $0.link == link.name }.map(\.address.address), isPrimary: isPrimary, names: names)
  }

  private func carrier(of link: Link) -> InterfaceIndex { sources.mediums[link.index]?.carrier ?? link.index }

  /// Type and SSID. An SSID file speaks for the primary link, where the kernel's radio does not: a host behind a Wi-Fi bridge is on Wi-Fi.
  private func medium(of link: Link, isPrimary: Bool) -> (Traced<InterfaceType>, Traced<SSID?>) {
    let found = sources.mediums[link.index]
    let type: Fact<InterfaceType> = found.map { .known($0.type) } ?? .unknown(because: "the kernel does not say")
    let typeSource = SourceAnswer(
      source: "kernel", said: found.map { $0.type.rawValue } ?? "nothing", isBelieved: found != nil, because: found?.because)
    let traced = { (type: Fact<InterfaceType>, extra: [SourceAnswer]) in
      Traced(type, FactOrigin(extra + [typeSource], confirmed: self.sources.lookedAt))
    }
    if let ssid = sources.wifi[carrier(of: link)]?.ssid { return (traced(type, []), direct("nl80211", ssid, words)) }
    let silent = SourceAnswer(source: "nl80211", said: "nothing: \(link.name) is not a radio", isBelieved: false)
    guard isPrimary, let file = sources.ssidFile, type.value.map({ $0 == .ethernet || $0 == .other }) ?? true else {
      return (traced(type, []), Traced(.known(nil), FactOrigin([silent], confirmed: sources.lookedAt)))
    }
    var ssid = direct("SSID file", file, words)
    ssid.origin.sources.insert(silent, at: 0)
    switch file {
    case .known(.some):
      var overruled = typeSource
      overruled.isBelieved = false
      overruled.because = "the SSID file says that it is Wi-Fi"
      let answers = [SourceAnswer(source: "SSID file", said: "wifi", isBelieved: true), overruled]
      return (Traced(.known(.wifi), FactOrigin(answers, confirmed: sources.lookedAt)), ssid)
    case .known(nil), .unknown: return (traced(type, []), ssid)
    }
  }

  private func words(_ ssid: SSID?) -> String { ssid.map { "\"\($0)\"" } ?? "on no network" }

  private func radio<Value>(
    _ fact: Fact<Value?>?, _ isNamedByFile: Bool, _ what: String, _ words: (Value?) -> String
  ) -> Traced<Value?> {
    if let fact { return direct("nl80211", fact, words) }
    let silent = SourceAnswer(source: "nl80211", said: "nothing: it is not a radio", isBelieved: false)
    guard isNamedByFile else { return Traced(.known(nil), FactOrigin([silent], confirmed: sources.lookedAt)) }
    let file = SourceAnswer(source: "SSID file", said: "nothing: it gives the name alone", isBelieved: false)
    let reason = "the SSID file does not tell the \(what), and the kernel has no radio"
    return Traced(.unknown(because: reason), FactOrigin([silent, file]), isUnavailable: true)
  }

  private func hardwareAddress(of gateway: IPAddress?, on link: Link) -> Traced<MACAddress?> {
    let source = "kernel"
    guard let gateway else {
      let answer = SourceAnswer(source: source, said: "there is no gateway", isBelieved: true)
      return Traced(.known(nil), FactOrigin([answer], confirmed: sources.lookedAt))
    }
    let entry = sources.kernel.neighbours.first { $0.link == link.name && $0.address == gateway }
    if entry == nil, !link.resolvesNeighbours {
      let reason = "\(link.name) is a link without hardware addresses"
      let answer = SourceAnswer(source: source, said: "nothing: \(reason)", isBelieved: false)
      return Traced(.unknown(because: reason), FactOrigin([answer]), isUnavailable: true)
    }
    let fact: Fact<MACAddress?> =
      entry?.macAddress.map { .known($0) }
      ?? .unknown(because: "no neighbour entry for \(gateway) yet (the kernel was asked to resolve it)")
    var traced = direct(source, fact) { $0?.description ?? "none" }
    if fact.value != nil { traced.origin.sources[0].because = "its neighbour entry of \(gateway)" }
    return traced
  }

  /// A fact that one source alone can give, read at this look.
  private func direct<Value>(_ source: String, _ fact: Fact<Value>, _ words: (Value) -> String) -> Traced<Value> {
    switch fact {
    case .known(let value):
      Traced(fact, FactOrigin([SourceAnswer(source: source, said: words(value), isBelieved: true)], confirmed: sources.lookedAt))
    case .unknown(let reason):
      Traced(fact, FactOrigin([SourceAnswer(source: source, said: "nothing: \(reason)", isBelieved: false)]))
    }
  }

  // MARK: Notes

  private mutating func note<Value>(_ kind: FactKind, _ link: String? = nil, _ traced: Traced<Value>) -> Fact<Value> {
    if let link { provenance.links[link, default: [:]][kind] = traced.origin } else { provenance.machine[kind] = traced.origin }
    if traced.isUnavailable { if link == nil { unavailable.insert(kind) } else { unavailableOfLink.insert(kind) } }
    return traced.fact
  }

  /// Only what somebody needs is found out.
  private mutating func note<Value>(_ kind: FactKind, _ link: String? = nil, _ find: (Self) -> Traced<Value>) -> Fact<Value> {
    guard sources.needed.contains(kind) else { return .notNeeded }
    return note(kind, link, find(self))
  }
}

private let withoutNetwork = Traced<Bool>(.unknown(because: "there is no network"), FactOrigin([]))
