internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardProvider

// Settings that the gateway changes while the tunnel is up (docs/decisions/0057).
extension GatewayClient {
  func listen(_ grant: LoginGrant) {
    guard let address = grant.addresses.first else { return }
    let trouble = engine.listen(at: address) { [weak self] in
      switch SealedDatagram.kind(of: $0) {
      case PacketAnswer.kind: self?.takeAnswer($0)
      case SessionEnd.kind: self?.takeEnd($0)
      default: self?.takeSettings($0)
      }
    }
    if let trouble { host.log(.notice, "settings", "changed settings come only with the next login: \(trouble.text)") }
  }

  /// Takes settings from inside of the tunnel, if they are the gateway's and newer than the last ones.
  private func takeSettings(_ datagram: [UInt8]) {
    guard isRunning, let memory, let login = memory.login,
      let push = SettingsPush(datagram, { memory.key.seal($0, of: login.grant.gatewayKey) }),
      live.accept(push, from: login.grant.gatewayKey)
    else { return }
    live.disregard(datagram)
    if push.grant == login.grant { return }
    host.log(.notice, "settings", "the gateway has changed them")
    self.memory?.login?.grant = push.grant
    keep()
    let before = sites.text
    updateSites()
    if isReady, !isReasserting, sites.text != before { host.transport(transportReason) }
    update()
  }

  /// The gateway takes the key no more: the next start has to log in.
  private func takeEnd(_ datagram: [UInt8]) {
    guard isRunning, let memory, let grant = memory.login?.grant,
      let end = SessionEnd(datagram, { memory.key.seal($0, of: grant.gatewayKey, SessionEnd.label) }),
      live.accept(end.number, from: grant.gatewayKey)
    else { return }
    self.memory?.login = nil
    keep()
    fail("session-ended", "the gateway \(grant.endpoint) has ended the session; it needs another login", .time)
  }

  /// Has the agent apply what has changed. The engine goes on, and so do flows that the change does not touch.
  func update() {
    guard isReady, !live.isApplying, !live.isMoving, let grant = memory?.login?.grant, let old = live.inForce, grant != old else { return }
    live.isApplying = true
    host.apply(Self.settings(of: grant)) { [weak self] result in
      guard let self, isRunning else { return }
      live.isApplying = false
      live.inForce = grant
      if live.isMoving { return applyMove() }
      switch result {
      case .failure(let refusal): host.log(.warning, "settings", "the changed ones are not in force: \(refusal.text)")
      case .success(let refused): report(refused)
      }
      if live.isReadyDue { host.ready() }
      live.isReadyDue = false
      if grant.addresses.first != old.addresses.first { listen(grant) }
      follow(grant, insteadOf: old)
      update()
    }
  }

  /// Applies changes of the endpoint and the keepalive.
  private func follow(_ grant: LoginGrant, insteadOf old: LoginGrant) {
    if grant.endpoint != old.endpoint { return seek(isLater: true) }
    // A relay keeps its own, because the gateway ends those that are silent.
    if grant.keepalive != old.keepalive, transport != "tcp" {
      engine.configure(EngineRequest.keepalive(grant.keepalive ?? 0, of: grant.gatewayKey))
    }
  }

  /// While packets come, so that a firewall of this machine expects the gateway; otherwise now and then, so that a gateway behind which
  /// this machine has been forgotten sees it.
  func greet(_ reading: EngineReading) {
    guard live.isGreetingDue(reading, at: host.now), let grant = live.inForce, let address = grant.addresses.first,
      let gateway = grant.gatewayAddresses.first(where: { $0.family == address.family })
    else { return }
    engine.send([], to: gateway)
  }
}
