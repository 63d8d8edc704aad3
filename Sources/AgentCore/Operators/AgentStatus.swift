package import ControlProtocol
import Doctor
internal import KernelModel
internal import NetworkTypes
internal import PolicySource
internal import RoamwardCore

extension Reconciler {
  /// What `roamward status` shows, from what the last pass saw and one fresh look at the WireGuard devices.
  package func status(at time: Int64, process: Int) -> StatusReport {
    let primary = observation?.snapshot.primaryLink
    var status = StatusReport(
      time: time, process: process, generation: inForce.generation, policyFiles: inForce.loaded.files.count,
      problems: inForce.loaded.diagnostics.map(\.problem),
      primary: .init(
        link: primary?.name, type: primary?.type.value?.rawValue, ssid: primary?.ssid.value??.description, network4: network.digest(.v4),
        network6: network.digest(.v6)),
      firewall: firewallStatus, tunnels: supervisors.keys.sorted().compactMap { supervisors[$0].map(report) }, probes: probeReports,
      notes: notes.map(\.description), counters: counters, resolver: resolverReport)
    status.standIns = inForce.loaded.fallback?.standIns ?? []
    status.others = others.all.map(\.description)
    let fit = underlayFit
    for setup in guardedSetups where setup.level == .full || setup.isGuarding {
      guard let i = status.tunnels.firstIndex(where: { $0.name == setup.policy.name }) else { continue }
      status.tunnels[i].outside = setup.outsidePrefixes(on: fit).map { "\($0.prefix), because \($0.because)" }
    }
    status.lastWake = lastWake.map {
      .init(reason: $0.reason.rawValue, tunnel: $0.tunnel, at: world.wallClock() - (world.now() - $0.at).components.seconds)
    }
    status.nextWake = deadlines.min { $0.at < $1.at }.map { .init(reason: $0.reason.rawValue, tunnel: $0.tunnel, at: wallClock($0.at)) }
    status.trialUntil = world.trials.current().map { wallClock($0.until) }
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
      decision: decision?.outcome.rawValue ?? "ignore", rule: decision?.rule.map(StatusReport.Rule.init), because: reason.description,
      hold: hold.map { $0.wantsUp ? "up" : "down" }, holdSince: hold?.since, holdEnds: hold?.lifetime.words, holdUntil: hold?.lifetime.end,
      holdReason: hold?.reason,
      timers: timers(of: supervisor).map { .init(what: $0.what.rawValue, at: wallClock($0.at)) }, link: isUp ? supervisor.linkName : nil,
      engine: isUp ? supervisor.engineName : nil, endpoint: peer?.endpoint?.description, lastHandshake: device?.lastHandshake,
      receivedBytes: device.map { Int64(clamping: $0.peers.reduce(0) { $0 &+ $1.receivedBytes }) },
      sentBytes: device.map { Int64(clamping: $0.peers.reduce(0) { $0 &+ $1.sentBytes }) },
      failure: supervisor.machine.failure?.description,
      notes: notes.filter { $0.tunnel == policy.name }.map(\.description))
    report.notes += policy.limitations.map { "\(policy.name): \($0)" }
    report.code = reason.code.rawValue
    report.failureCode = supervisor.machine.failure?.code.rawValue
    report.holdLifetime = hold?.lifetime.kind
    report.isWanted = supervisor.isWanted
    if case .peerSilent(let before) = supervisor.machine.doubt {
      report.peerSilence = before.components.seconds + max(0, world.wallClock() - supervisor.stateSince)
    }
    report.table = supervisor.machine.isRunning ? Ownership.tables.lowerBound + supervisor.slot : nil
    return report
  }
}

extension StatusReport.Rule {
  fileprivate init(_ rule: RuleReference) {
    self.init(index: rule.index, name: rule.name, file: rule.location.file, line: rule.location.line)
  }
}

extension Diagnostic {
  package var problem: StatusReport.Problem {
    .init(file: location.file, line: location.line, column: location.column, severity: "\(severity)", message: message)
  }
}
