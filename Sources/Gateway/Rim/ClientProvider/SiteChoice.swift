internal import JSON
internal import LoginProtocol
internal import NetworkTypes

/// The choice among several gateways with keys of their own, and the probes that measure them
/// (docs/decisions/0065-clients-choose-among-gateways-with-keys-of-their-own.md).
struct SiteChoice {
  /// A round of probes: initiations of WireGuard, whose answers show in the engine.
  private struct Round {
    /// When each was sent, by the engine's clock.
    var sent: [[UInt8]: UInt64] = [:]
    let until: Moment
  }

  /// The result of a look.
  enum Outcome: Equatable {
    case nothing
    /// A round is over, and the present gateway stays.
    case measured
    /// Another gateway is to be used.
    case change([UInt8])
  }

  private(set) var machine = SiteMachine(.nearest)
  /// The probes that are under way.
  private var round: Round?
  /// Addresses of gateways whose endpoint is a name; they stay known in the next run.
  private var places: [[UInt8]: IPAddress] = [:]

  /// A run begins.
  mutating func start(_ preference: SiteMachine.Preference) { (machine, round) = (SiteMachine(preference), nil) }

  /// After a login, a push or a change of the gateway.
  mutating func update(_ grant: LoginGrant, at now: Moment) {
    let isUsable = !grant.sites.isEmpty && grant.site != nil
    machine.update(
      isUsable ? grant.sites.map { SiteMachine.Candidate(key: $0.key, name: $0.name) } : [], present: grant.gatewayKey, at: now)
  }

  /// Nothing is measured until the gateway answers.
  mutating func suspend() {
    machine.suspend()
    round = nil
  }

  /// In another network, what was measured counts no more.
  mutating func forget() { machine.forget() }

  /// All of them are sought again.
  mutating func searchAgain() { machine.searchAgain() }

  /// The present gateway answers by UDP at `address`.
  mutating func connected(_ grant: LoginGrant, at now: Moment) -> [ClientEffect] {
    machine.connected(at: now)
    return grant.sites.compactMap { locate($0) }
  }

  /// When there is something to do.
  var deadline: Moment? { round?.until ?? machine.deadline }

  /// Measures the round trips to all gateways, now and then. `address`: that of the present one.
  mutating func look(
    _ sight: EngineSight, _ grant: LoginGrant, by address: IPAddress, isSuspicious: Bool, at now: Moment
  ) -> (outcome: Outcome, effects: [ClientEffect]) {
    if isSuspicious { machine.suspect(at: now) }
    if let round { return now >= round.until ? finish(round, sight.reading, grant, at: now) : (.nothing, []) }
    let keys = machine.look(at: now)
    if keys.isEmpty { return (.nothing, []) }
    var round = Round(until: now + SiteMachine.patience)
    var effects: [ClientEffect] = []
    for site in grant.sites where keys.contains(site.key) {
      guard let port = Endpoint(site.endpoint)?.port else { continue }
      if site.key == grant.gatewayKey {
        round.sent[site.key] = sight.clock
        effects.append(.engine(.probe(site.key, Endpoint(host: .address(address), port: port))))
      } else if let place = places[site.key] {
        round.sent[site.key] = sight.clock
        effects.append(.engine(.measure(site.key, Endpoint(host: .address(place), port: port))))
      }
      // Names may have moved by the next round.
      if let effect = locate(site) { effects.append(effect) }
    }
    self.round = round
    return (.nothing, effects)
  }

  private mutating func finish(
    _ round: Round, _ reading: EngineReading, _ grant: LoginGrant, at now: Moment
  ) -> (outcome: Outcome, effects: [ClientEffect]) {
    self.round = nil
    var trips: [[UInt8]: Duration] = [:]
    var effects: [ClientEffect] = []
    for (key, sent) in round.sent {
      let isPresent = key == grant.gatewayKey
      let handshake = isPresent ? reading.handshake : reading.others[EngineRequest.hex(key)] ?? 0
      if handshake > sent { trips[key] = .nanoseconds(Int64(clamping: handshake - sent)) }
      // The engine would repeat the initiation. One that has answered stays: its gateway may send a push, and tries again if nothing comes
      // back.
      if !isPresent, trips[key] == nil { effects.append(.engine(.remove(key))) }
    }
    return (machine.finish(trips, at: now).map { .change($0) } ?? .measured, effects)
  }

  private mutating func locate(_ site: GatewaySite) -> ClientEffect? {
    switch Endpoint(site.endpoint)?.host {
    case .address(let address):
      places[site.key] = address
      return nil
    case .name(let name): return .locate(site.key, name)
    case nil: return nil
    }
  }

  /// A gateway's name has these addresses. `family`: that which passes here.
  mutating func located(_ key: [UInt8], _ addresses: [IPAddress], family: IPAddress.Family?) {
    places[key] = addresses.first { $0.family == family } ?? addresses.first
  }

  /// The present gateway does not answer data. Returns another one that answers.
  mutating func died(at now: Moment) -> [UInt8]? { machine.died(at: now) }

  /// In no way there was an answer of the present gateway. Returns another one to seek.
  mutating func silent(at now: Moment) -> [UInt8]? { machine.silent(at: now) }

  /// For applications: each gateway with its round trip.
  func report(_ sites: [GatewaySite]) -> JSON {
    .array(
      sites.map { site in
        let trip = machine.roundTrip(of: site.key).map { Int64($0 / .microseconds(1)) }
        return [
          "name": .string(site.name), "answers": .bool(!machine.isMissing(site.key)), "round-trip-us": trip.map { .integer($0) } ?? .null,
        ]
      })
  }
}

extension GatewaySite {
  /// As options write it; `nil`: it takes no logins.
  var loginPin: String? { pin.isEmpty ? nil : "sha256//\(base64(pin))" }
}
