package import ControlProtocol
package import NetworkTypes
internal import PolicySource
internal import RoamwardCore

extension Reconciler {
  /// What `roamward status` shows, from what the last pass saw and one fresh look at the WireGuard devices.
  package func status(at time: Timestamp, process: Int) -> StatusReport {
    let primary = observation?.snapshot.primaryLink
    var status = StatusReport(
      time: time, process: process,
      policy: .init(
        generation: inForce.generation, files: inForce.loaded.files.count, problems: inForce.loaded.diagnostics.map(\.problem),
        standIns: inForce.loaded.fallback?.standIns ?? [], trialUntil: world.trials.current().map { wallClock($0.until) }),
      primary: .init(
        link: primary?.name, type: primary?.type.value?.rawValue, ssid: primary?.ssid.value??.description,
        network: .init(v4: network.digest(.v4), v6: network.digest(.v6))),
      firewall: firewallStatus, tunnels: supervisors.keys.sorted().compactMap { supervisors[$0].map(report) }, probes: probeReports,
      notes: notes.map { RemarkReport($0) }, others: others.all.map(\.description), counters: counters, resolver: resolverReport)
    let fit = underlayFit
    for setup in guardedSetups where setup.level == .full || setup.isGuarding {
      guard let i = status.tunnels.firstIndex(where: { $0.name == setup.policy.name }) else { continue }
      status.tunnels[i].outside = setup.outsidePrefixes(on: fit).map { .init(prefix: $0.prefix.description, because: $0.because) }
    }
    status.lastWake = lastWake.map {
      .init(reason: $0.reason.rawValue, tunnel: $0.tunnel, at: world.wallClock() - (world.now() - $0.at))
    }
    status.nextWake = deadlines.min { $0.at < $1.at }.map { .init(reason: $0.reason.rawValue, tunnel: $0.tunnel, at: wallClock($0.at)) }
    return status
  }

  private func report(_ supervisor: TunnelSupervisor) -> StatusReport.Tunnel {
    let policy = supervisor.policy
    let decision = deliberation.decisions[policy.name]
    let hold = deliberation.holds[policy.name]
    let isUp = supervisor.machine.level > .nothing
    let device = isUp ? supervisor.linkName.flatMap { observation?.state.wireGuard[$0] } : nil
    let peer = device?.peers.max { $0.lastHandshake < $1.lastHandshake }
    let reason = reason(for: supervisor)
    var report = StatusReport.Tunnel(
      name: policy.name, state: supervisor.machine.state.status, since: supervisor.stateSince, isEnabled: policy.isEnabled,
      decision: decision?.outcome ?? .ignore, rule: decision?.rule.map { RuleReport($0) }, because: reason.description,
      code: reason.code, hold: hold.map { $0.wantsUp ? "up" : "down" }, holdSince: hold?.since, holdEnds: hold?.lifetime.words,
      holdUntil: hold?.lifetime.end,
      holdReason: hold?.reason, holdLifetime: hold?.lifetime.word, isWanted: supervisor.isWanted,
      table: supervisor.machine.isRunning ? Ownership.tables.lowerBound + supervisor.slot : nil,
      timers: timers(of: supervisor).map { .init(what: $0.what.rawValue, at: wallClock($0.at)) }, link: isUp ? supervisor.linkName : nil,
      engine: isUp ? supervisor.engineName : nil, endpoint: peer?.endpoint?.description,
      lastHandshake: device?.lastHandshake.map { Timestamp(seconds: $0) },
      receivedBytes: device.map { Int64(clamping: $0.peers.reduce(0) { $0 &+ $1.receivedBytes }) },
      sentBytes: device.map { Int64(clamping: $0.peers.reduce(0) { $0 &+ $1.sentBytes }) },
      failure: supervisor.machine.failure?.description, failureCode: supervisor.machine.failure?.code,
      notes: notes.filter { $0.tunnel == policy.name }.map { RemarkReport($0) }
        + policy.limitations.map { RemarkReport(.unsupported, of: policy.name, $0) })
    if case .peerSilent(let before) = supervisor.machine.doubt {
      report.peerSilenceMilliseconds = (before + max(.zero, world.wallClock() - supervisor.stateSince)).milliseconds
    }
    return report
  }
}

extension Hold.Lifetime {
  /// What ends it, as a word of reports.
  var word: Lifetime.Word {
    switch self {
    case .network: .network
    case .time: .time
    case .resume: .resume
    }
  }
}

extension Diagnostic {
  package var problem: StatusReport.Problem {
    .init(file: location.file, line: location.line, column: location.column, severity: "\(severity)", message: message)
  }
}
