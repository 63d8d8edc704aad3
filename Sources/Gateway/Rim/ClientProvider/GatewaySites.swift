internal import JSON
internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardProvider

/// A round of probes: initiations of WireGuard, whose answers show in the engine.
struct SiteRound {
  /// When each was sent, by the engine's clock.
  var sent: [[UInt8]: UInt64] = [:]
  let until: Moment
}

// Several gateways with keys of their own (docs/decisions/0065-clients-choose-among-gateways-with-keys-of-their-own.md).
extension GatewayClient {
  /// After a login, a push or a change of the gateway.
  func updateSites() {
    guard let grant = memory?.login?.grant else { return }
    let isUsable = !grant.sites.isEmpty && grant.site != nil
    sites.update(
      isUsable ? grant.sites.map { SiteMachine.Candidate(key: $0.key, name: $0.name) } : [], present: grant.gatewayKey, at: host.now)
  }

  /// The way to the gateway is there.
  func siteAnswered() {
    updateSites()
    round = nil
    if useWantedNow() { return }
    guard case .udp = seeking.ways.way else { return sites.suspend() }
    watch.hasAlternative = sites.hasOthers
    sites.connected(at: host.now)
    for site in memory?.login?.grant.sites ?? [] { locate(site) }
  }

  /// The policy names another one, which a push may have made known.
  private func useWantedNow() -> Bool {
    guard let wanted = sites.wanted else { return false }
    change(to: wanted, "the policy wants it")
    return true
  }

  func suspendSites() {
    sites.suspend()
    round = nil
  }

  /// When there is something to do.
  var siteDeadline: Moment? {
    guard case .udp = seeking.ways.way else { return nil }
    return round?.until ?? sites.deadline
  }

  /// Measures the round trips to all gateways, now and then.
  func measure(_ reading: EngineReading) {
    if useWantedNow() { return }
    guard case .udp(let address) = seeking.ways.way, let grant = memory?.login?.grant else { return }
    watch.hasAlternative = sites.hasOthers
    if watch.isSuspicious { sites.suspect(at: host.now) }
    if let round {
      if host.now >= round.until { finish(round, reading, grant) }
      return
    }
    let keys = sites.look(at: host.now)
    guard !keys.isEmpty else { return }
    var round = SiteRound(until: host.now + SiteMachine.patience)
    for site in grant.sites where keys.contains(site.key) {
      guard let port = Endpoint(site.endpoint)?.port else { continue }
      if site.key == grant.gatewayKey {
        round.sent[site.key] = engine.clock
        engine.configure(EngineRequest.probe(Endpoint(host: .address(address), port: port), of: site.key))
      } else if let place = places[site.key] {
        round.sent[site.key] = engine.clock
        engine.configure(EngineRequest.measure(site.key, at: Endpoint(host: .address(place), port: port)))
      }
      // Names may have moved by the next round.
      locate(site)
    }
    self.round = round
  }

  private func finish(_ round: SiteRound, _ reading: EngineReading, _ grant: LoginGrant) {
    self.round = nil
    var trips: [[UInt8]: Duration] = [:]
    for (key, sent) in round.sent {
      let isPresent = key == grant.gatewayKey
      let handshake = isPresent ? reading.handshake : reading.others[EngineRequest.hex(key)] ?? 0
      if handshake > sent { trips[key] = .nanoseconds(Int64(clamping: handshake - sent)) }
      // The engine would repeat the initiation. One that has answered stays: its gateway may send a push, and tries again if nothing comes
      // back.
      if !isPresent, trips[key] == nil { engine.configure(EngineRequest.remove(key)) }
    }
    if let next = sites.finish(trips, at: host.now) { return change(to: next, "another gateway is nearer") }
    if isReady, !isReasserting { host.transport(transportReason) }
  }

  private func locate(_ site: GatewaySite) {
    switch Endpoint(site.endpoint)?.host {
    case .address(let address): places[site.key] = address
    case .name(let name):
      host.resolve(name) { [weak self] result in
        guard let self, case .success(let addresses) = result else { return }
        // Of the family that passes here.
        var family: IPAddress.Family?
        if case .udp(let address) = seeking.ways.way { family = address.family }
        places[site.key] = addresses.first { $0.family == family } ?? addresses.first
      }
    case nil: break
    }
  }

  /// Data is not answered. Returns whether the device changes over to a gateway that answers.
  func leaveDeadGateway() -> Bool {
    guard let next = sites.died(at: host.now) else { return false }
    change(to: next, "\(memory?.login?.grant.site?.name ?? "the gateway") does not answer")
    return true
  }

  /// In no way there was an answer of this gateway. Returns whether another one is sought.
  func tryNextSite() -> Bool {
    // A start has to be ready within a minute, or to ask for a login by then.
    if !seeking.isLater, host.now - began > GatewayPatience.loss { return false }
    let name = memory?.login?.grant.site?.name ?? "the gateway"
    guard let next = sites.silent(at: host.now) else { return false }
    change(to: next, "\(name) does not answer")
    return true
  }

  /// Before the engine runs, the gateway that the policy names is used at once.
  func useWanted() {
    guard let wanted = sites.wanted, let site = memory?.login?.grant.sites.first(where: { $0.key == wanted }) else { return }
    use(site)
  }

  private func use(_ site: GatewaySite) {
    guard let grant = memory?.login?.grant else { return }
    memory?.login?.grant = grant.at(site)
    keep()
    updateSites()
  }

  /// Changes over to another gateway: other addresses, another peer, no login. The tunnel stays, and carries nothing meanwhile.
  private func change(to key: [UInt8], _ reason: String) {
    guard let site = memory?.login?.grant.sites.first(where: { $0.key == key }) else { return }
    seeking.number += 1
    seeking.ways.stop()
    suspendSites()
    closeRelay()
    use(site)
    host.log(.notice, "gateway", "to \(site.name): \(reason)")
    if isReady { reassert("gateway-changed", "to the gateway \(site.name): \(reason)") }
    applyMove()
  }

  /// Has the agent apply the settings at the new gateway, then seeks it.
  func applyMove() {
    live.isMoving = true
    guard !live.isApplying, let grant = memory?.login?.grant else { return }
    live.isApplying = true
    let (end, number) = (seeking.end, seeking.number)
    host.apply(Self.settings(of: grant)) { [weak self] result in
      guard let self, isRunning else { return }
      live.isApplying = false
      // Another one meanwhile.
      if memory?.login?.grant.gatewayKey != grant.gatewayKey { return applyMove() }
      live.isMoving = false
      switch result {
      case .failure(let refusal): return fail(refusal.code, refusal.text, .time)
      case .success(let refused): report(refused)
      }
      live.inForce = grant
      listen(grant)
      // Unless the network has changed meanwhile, or is away.
      guard seeking.number == number else { return }
      seek(isLater: isReady, until: end)
    }
  }

  /// For applications: each gateway with its round trip.
  var siteReport: JSON {
    .array(
      (memory?.login?.grant.sites ?? []).map { site in
        let trip = sites.roundTrip(of: site.key).map { Int64($0 / .microseconds(1)) }
        return [
          "name": .string(site.name), "answers": .bool(!sites.isMissing(site.key)), "round-trip-us": trip.map { .integer($0) } ?? .null,
        ]
      })
  }
}

extension GatewaySite {
  /// As options write it; `nil`: it takes no logins.
  var loginPin: String? { pin.isEmpty ? nil : "sha256//\(base64(pin))" }
}
