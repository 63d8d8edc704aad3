import KernelModel
import NetworkTypes

/// A link while its facts are gathered.
struct GatheredLink: Sendable {
  let link: Link
  let isPrimary: Bool
  /// Default gateways, best first.
  var gateways: [IPAddress] = []
  /// The link as a question to the programs of the host.
  let question: LinkInQuestion
}

/// Gathers facts, each by its declaration, and records their origin.
struct FactGathering: Sendable {
  let sources: SnapshotInputs
  private let names: Set<String>
  private(set) var provenance = Provenance()
  /// Facts of the machine that no source can provide; those of a link are recorded with it.
  private(set) var unavailable: Set<FactKind> = []
  private var unavailableOfLink: Set<FactKind> = []

  init(_ sources: SnapshotInputs) {
    self.sources = sources
    names = Set(sources.kernel.links.map(\.name))
  }

  mutating func link(_ link: Link, isPrimary: Bool, addresses: [InterfaceAddress], gateways: [IPAddress]) -> LinkFacts {
    var gathered = self.gathered(link, isPrimary: isPrimary)
    gathered.gateways = gateways
    unavailableOfLink = []
    var facts = LinkFacts(name: link.name, addresses: addresses, gateways: gateways, mtu: link.mtu, device: link.device)
    for case .link(let access) in FactTable.ofLinks.lazy.map(\.place) { access.gather(&self, gathered, &facts) }
    facts.unavailable = unavailableOfLink
    return facts
  }

  /// Gathers the facts of the machine as a whole; `snapshot` has the links.
  mutating func machine(primary: Link?, _ snapshot: inout NetworkSnapshot) {
    let gathered = primary.map { self.gathered($0, isPrimary: true) }
    for case .machine(let access) in FactTable.ofMachine.lazy.map(\.place) { access.gather(&self, gathered, &snapshot) }
    snapshot.unavailable = unavailable
  }

  /// The portal API that the network announced to the DHCP client; gathered together with the fact that it is for.
  func portalAPI(of primary: Link) -> String? {
    guard sources.needed.contains(.captivePortal) || sources.needed.contains(.internet) else { return nil }
    return sources.host.lease(of: gathered(primary, isPrimary: true).question)?.portalAPI
  }

  private func gathered(_ link: Link, isPrimary: Bool) -> GatheredLink {
    let question = LinkInQuestion(
      name: link.name, index: link.index.value, hardwareAddress: link.address,
      addresses: sources.kernel.addresses.filter { $0.link == link.name }.map(\.address.address), isPrimary: isPrimary, names: names)
    return GatheredLink(link: link, isPrimary: isPrimary, question: question)
  }

  // MARK: One fact

  private func carrier(of link: Link) -> InterfaceIndex { sources.mediums[link.index]?.carrier ?? link.index }

  /// The radio facts of a link from nl80211; `nil` if it has no radio.
  func wifi(of link: GatheredLink) -> WiFiFacts? { sources.wifi[carrier(of: link.link)] }

  /// Type and SSID. An SSID file applies to the primary link, unless the kernel reports a radio: a host behind a Wi-Fi bridge is on Wi-Fi.
  func medium(of gathered: GatheredLink) -> (type: Traced<InterfaceType>, ssid: Traced<SSID?>) {
    let (link, isPrimary) = (gathered.link, gathered.isPrimary)
    let found = sources.mediums[link.index]
    let type: Fact<InterfaceType> = found.map { .known($0.type) } ?? .unknown(reason: "the kernel does not say")
    let typeSource = SourceAnswer(
      source: "kernel", said: found.map { $0.type.rawValue } ?? "nothing", isBelieved: found != nil, reason: found?.reason)
    let traced = { (type: Fact<InterfaceType>, extra: [SourceAnswer]) in
      Traced(type, FactOrigin(extra + [typeSource], confirmed: self.sources.lookedAt))
    }
    if let ssid = sources.wifi[carrier(of: link)]?.ssid { return (traced(type, []), direct("nl80211", ssid, text)) }
    let silent = SourceAnswer(source: "nl80211", said: "nothing: \(link.name) is not a radio", isBelieved: false)
    guard isPrimary, let file = sources.ssidFile, type.value.map({ $0 == .ethernet || $0 == .other }) ?? true else {
      return (traced(type, []), Traced(.known(nil), FactOrigin([silent], confirmed: sources.lookedAt)))
    }
    var ssid = direct("SSID file", file, text)
    ssid.origin.sources.insert(silent, at: 0)
    switch file {
    case .known(.some):
      var overruled = typeSource
      overruled.isBelieved = false
      overruled.reason = "the SSID file says that it is Wi-Fi"
      let answers = [SourceAnswer(source: "SSID file", said: "wifi", isBelieved: true), overruled]
      return (Traced(.known(.wifi), FactOrigin(answers, confirmed: sources.lookedAt)), ssid)
    case .known(nil), .unknown: return (traced(type, []), ssid)
    }
  }

  private func text(_ ssid: SSID?) -> String { ssid.map { "\"\($0)\"" } ?? "on no network" }

  /// Another fact of a radio from nl80211. `facts` has the link's type.
  func radio<Value>(
    _ fact: (WiFiFacts) -> Fact<Value?>, of link: GatheredLink, _ facts: LinkFacts, _ what: String, _ text: (Value?) -> String
  ) -> Traced<Value?> {
    let wifi = wifi(of: link)
    if let wifi { return direct("nl80211", fact(wifi), text) }
    let isNamedByFile = facts.type == .known(.wifi)
    let silent = SourceAnswer(source: "nl80211", said: "nothing: it is not a radio", isBelieved: false)
    guard isNamedByFile else { return Traced(.known(nil), FactOrigin([silent], confirmed: sources.lookedAt)) }
    let file = SourceAnswer(source: "SSID file", said: "nothing: it gives the name alone", isBelieved: false)
    let reason = "the SSID file does not give the \(what), and the kernel has no radio"
    return Traced(.unknown(reason: reason), FactOrigin([silent, file]), isUnavailable: true)
  }

  func hardwareAddress(of gateway: IPAddress?, on link: Link) -> Traced<MACAddress?> {
    let source = "kernel"
    guard let gateway else {
      let answer = SourceAnswer(source: source, said: "there is no gateway", isBelieved: true)
      return Traced(.known(nil), FactOrigin([answer], confirmed: sources.lookedAt))
    }
    let entry = sources.kernel.neighbours.first { $0.link == link.name && $0.address == gateway }
    if entry == nil, !link.resolvesNeighbours {
      let reason = "\(link.name) is a link without hardware addresses"
      let answer = SourceAnswer(source: source, said: "nothing: \(reason)", isBelieved: false)
      return Traced(.unknown(reason: reason), FactOrigin([answer]), isUnavailable: true)
    }
    let fact: Fact<MACAddress?> =
      entry?.macAddress.map { .known($0) }
      ?? .unknown(reason: "no neighbour entry for \(gateway) yet (the kernel was asked to resolve it)")
    var traced = direct(source, fact) { $0?.description ?? "none" }
    if fact.value != nil { traced.origin.sources[0].reason = "its neighbour entry of \(gateway)" }
    return traced
  }

  /// A fact from a single source, read in this observation.
  func direct<Value>(_ source: String, _ fact: Fact<Value>, _ text: (Value) -> String) -> Traced<Value> {
    switch fact {
    case .known(let value):
      Traced(fact, FactOrigin([SourceAnswer(source: source, said: text(value), isBelieved: true)], confirmed: sources.lookedAt))
    case .unknown(let reason):
      Traced(fact, FactOrigin([SourceAnswer(source: source, said: "nothing: \(reason)", isBelieved: false)]))
    }
  }

  // MARK: Notes

  /// Records a fact. Only needed facts are gathered, except with `isAlways`.
  mutating func record<Value>(
    _ kind: FactKind, of link: GatheredLink?, isAlways: Bool = false, _ find: (Self) -> Traced<Value>
  ) -> Fact<Value> {
    guard isAlways || sources.needed.contains(kind) else { return .notNeeded }
    let traced = find(self)
    if let link {
      provenance.links[link.link.name, default: [:]][kind] = traced.origin
      if traced.isUnavailable { unavailableOfLink.insert(kind) }
    } else {
      provenance.machine[kind] = traced.origin
      if traced.isUnavailable { unavailable.insert(kind) }
    }
    return traced.fact
  }
}

extension Traced where Value == Bool {
  static let withoutNetwork = Traced(.unknown(reason: "there is no network"), FactOrigin([]))
}
