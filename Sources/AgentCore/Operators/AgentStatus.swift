package import ControlProtocol
import Doctor
internal import KernelModel
internal import NetworkTypes
internal import PolicySource
internal import RoamwardCore

extension Agent {
  /// What `roamward status` shows, from what the last pass saw and one fresh look at the WireGuard devices.
  package func status(at time: Int64, process: Int) -> StatusReport {
    let state = state
    let primary = state.seen.observation?.snapshot.primaryLink
    var status = StatusReport(
      time: time, process: process, generation: state.policies.generation, policyFiles: state.policies.loaded.files.count,
      problems: state.policies.loaded.diagnostics.map(\.problem),
      primary: .init(
        link: primary?.name, type: primary?.type.value?.rawValue, ssid: primary?.ssid.value??.description,
        network4: state.seen.network.digest(.v4),
        network6: state.seen.network.digest(.v6)),
      firewall: state.firewallStatus, tunnels: state.tunnels.ordered.sorted { $0.policy.name < $1.policy.name }.map(report),
      probes: probeReports,
      notes: announcer.problems.map(\.description), counters: state.agenda.counters, resolver: resolverReport)
    status.standIns = state.policies.loaded.fallback?.standIns ?? []
    status.others = state.seen.others.all.map(\.description)
    let fit = state.underlayFit
    for setup in state.desiredTunnels.setups where setup.level == .full || setup.isGuarding {
      guard let i = status.tunnels.firstIndex(where: { $0.name == setup.policy.name }) else { continue }
      status.tunnels[i].outside = setup.outsidePrefixes(on: fit).map { "\($0.prefix), because \($0.because)" }
    }
    status.lastWake = state.agenda.lastWake.map {
      .init(reason: $0.reason.rawValue, tunnel: $0.tunnel, at: platform.clock.wallClock() - (now - $0.at).components.seconds)
    }
    status.nextWake = state.agenda.next.map { .init(reason: $0.reason.rawValue, tunnel: $0.tunnel, at: wallClock($0.at)) }
    status.trialUntil = platform.policies.trials.current().map { wallClock($0.until) }
    return status
  }

  private func report(_ supervisor: TunnelSupervisor) -> StatusReport.Tunnel {
    let policy = supervisor.policy
    let decision = state.deliberation.decisions[policy.name]
    let hold = state.deliberation.holds[policy.name]
    let isUp = supervisor.machine.level > .nothing
    let device = isUp ? supervisor.linkName.flatMap { state.seen.state?.wireGuard[$0] } : nil
    let peer = device?.peers.max { $0.lastHandshake < $1.lastHandshake }
    let reason = state.reason(for: supervisor, at: now, wallClock: platform.clock.wallClock())
    var report = StatusReport.Tunnel(
      name: policy.name, state: supervisor.machine.state.status, since: supervisor.stateSince, isEnabled: policy.isEnabled,
      decision: decision?.outcome.rawValue ?? "ignore", rule: decision?.rule.map(StatusReport.Rule.init), because: reason.description,
      hold: hold.map { $0.wantsUp ? "up" : "down" }, holdSince: hold?.since, holdEnds: hold?.lifetime.words, holdUntil: hold?.lifetime.end,
      holdReason: hold?.reason,
      timers: state.timers(of: supervisor, at: now, wallClock: platform.clock.wallClock()).map {
        .init(what: $0.what.rawValue, at: wallClock($0.at))
      }, link: isUp ? supervisor.linkName : nil,
      engine: isUp ? supervisor.engineName : nil, endpoint: peer?.endpoint?.description, lastHandshake: device?.lastHandshake,
      receivedBytes: device.map { Int64(clamping: $0.peers.reduce(0) { $0 &+ $1.receivedBytes }) },
      sentBytes: device.map { Int64(clamping: $0.peers.reduce(0) { $0 &+ $1.sentBytes }) },
      failure: supervisor.machine.failure?.description,
      notes: announcer.problems.filter { $0.tunnel == policy.name }.map(\.description))
    report.notes += policy.limitations.map { "\(policy.name): \($0)" }
    report.code = reason.code.rawValue
    report.failureCode = supervisor.machine.failure?.code.rawValue
    report.holdLifetime = hold?.lifetime.kind
    report.isWanted = supervisor.isWanted
    if case .peerSilent(let before) = supervisor.machine.doubt {
      report.peerSilence = before.components.seconds + max(0, platform.clock.wallClock() - supervisor.stateSince)
    }
    report.table = supervisor.machine.isRunning ? Ownership.tables.lowerBound + supervisor.slot : nil
    return report
  }
}

extension Agent {
  /// In seconds since 1970.
  private func wallClock(_ moment: Moment) -> Int64 { platform.clock.wallClock() + max(0, (moment - now).components.seconds) }

  /// Each probe that a rule hangs on, or did on this network.
  private var probeReports: [StatusReport.Probe] {
    reconciler.probes.reports(at: now).map { report in
      StatusReport.Probe(
        name: report.name, answer: report.answer, because: report.because,
        answeredAt: report.answeredAt.map { platform.clock.wallClock() - (now - $0).components.seconds },
        nextAt: report.nextAt.map(wallClock), isWanted: report.isWanted)
    }
  }

  private var resolverReport: StatusReport.Resolver? {
    guard state.resolverLinks != nil else { return nil }
    let choice = state.resolverChoice
    var report = StatusReport.Resolver(
      backend: "\(choice.backend)", because: choice.because, splits: choice.splits,
      candidates: choice.candidates.map { .init(backend: $0.name, isChosen: $0.isChosen, because: $0.because) })
    report.refused = state.desiredState.refusedDomains.map(\.text)
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
