package import ControlProtocol
internal import KernelModel
package import NetworkTypes
internal import PolicySource
internal import ProviderProtocol
internal import RoamwardCore

extension Agent {
  /// The content of `roamward status`: the last pass, and one fresh read of the WireGuard devices.
  package func status(at time: Timestamp, process: Int) -> StatusReport {
    let state = state
    let primary = state.seen.observation?.snapshot.primaryLink
    let remarks = state.desiredState.remarks
    var status = StatusReport(
      time: time, process: process, policy: policies,
      primary: .init(
        link: primary?.name, type: primary?.type.value?.rawValue, ssid: primary?.ssid.value??.description,
        network: .init(v4: state.seen.network.digest(.v4), v6: state.seen.network.digest(.v6))),
      firewall: state.firewallStatus, tunnels: state.tunnels.ordered.sorted { $0.policy.name < $1.policy.name }.map { report($0, remarks) },
      probes: probeReports,
      notes: (announcer.problems + state.decisions.groups.remarks(of: state.set, at: now) + state.killSwitch.remarks).map {
        RemarkReport($0)
      },
      others: state.seen.others.all.map(\.description), counters: state.agenda.counters, resolver: resolverReport)
    status.guards = state.killSwitch.machine.allGuards(in: state.seen.state).map {
      StatusReport.Guard($0, usage: platform.guards.usage($0.guarded).map { .init($0) })
    }
    status.groups = state.set.groups.compactMap { GroupReport($0, state, at: now) { wallClock($0) } }
    status.programs = ProgramLaunch(self).reports
    status.endedPrograms = state.killSwitch.machine.ended.compactMap { EndedProgramsReport($0) { wallClock($0) } }
    status.proxies = ProxiesReport(state.desiredState.proxies, state.seen.state?.proxies)
    addNetwork(to: &status.tunnels)
    let fit = state.underlayFit
    for setup in state.desiredTunnels.setups where setup.level.hasRoutes || setup.isGuarding {
      guard let i = status.tunnels.firstIndex(where: { $0.name == setup.policy.name }) else { continue }
      if let remark = setup.unanswered(platform.machine.listeningPorts()) { status.tunnels[i].notes.append(RemarkReport(remark)) }
      status.tunnels[i].outside = setup.outsidePrefixes(on: fit).map { .init(prefix: $0.prefix.description, reason: $0.reason) }
    }
    status.lastWake = state.agenda.lastWake.map {
      .init(reason: $0.reason.rawValue, tunnel: $0.tunnel, at: platform.clock.wallClock() - (now - $0.at))
    }
    status.nextWake = state.agenda.next.map { .init(reason: $0.reason.rawValue, tunnel: $0.tunnel, at: wallClock($0.at)) }
    return status
  }

  private var policies: StatusReport.Policies {
    let inForce = state.policies
    return .init(
      generation: inForce.generation, files: inForce.loaded.files.count, problems: inForce.loaded.diagnostics.map(\.problem),
      replacedFiles: inForce.loaded.lastKnownGoodUse?.replacedFiles ?? [],
      trialUntil: platform.policies.trials.current().map { wallClock($0.until) })
  }

  private func report(_ supervisor: TunnelSupervisor, _ remarks: [Remark]) -> StatusReport.Tunnel {
    let policy = supervisor.policy
    let decision = state.decisions.decisions[policy.name]
    let override = state.decisions.overrides[policy.name]
    let isUp = supervisor.machine.level > .nothing
    let device = isUp ? supervisor.linkName.flatMap { state.seen.state?.wireGuard[$0] } : nil
    let peer = device?.peers.max { $0.lastHandshake < $1.lastHandshake }
    let reason = state.reason(for: supervisor, at: now, wallClock: platform.clock.wallClock())
    var report = StatusReport.Tunnel(
      name: policy.name, state: supervisor.machine.status, since: supervisor.stateSince, isEnabled: policy.isEnabled,
      decision: decision?.outcome ?? .ignore, rule: decision?.rule.map { RuleReport($0) }, reason: reason.description, code: reason.code,
      override: override.map { $0.wantsUp ? "up" : "down" }, overrideSince: override?.since, overrideEnds: override?.lifetime.text,
      overrideUntil: override?.lifetime.end,
      overrideReason: override?.reason, overrideLifetime: override?.lifetime.word, isWanted: supervisor.isWanted,
      table: supervisor.machine.isRunning ? Ownership.tables.lowerBound + supervisor.slot : nil,
      timers: state.timers(of: supervisor, at: now, wallClock: platform.clock.wallClock()).map {
        .init(what: $0.what.rawValue, at: wallClock($0.at))
      }, link: isUp ? supervisor.linkName : nil,
      engine: isUp ? supervisor.engineName : nil, endpoint: peer?.endpoint?.description,
      lastHandshake: device?.lastHandshake.map { Timestamp(seconds: $0) },
      receivedBytes: device.map { Int64(clamping: $0.peers.reduce(0) { $0 &+ $1.receivedBytes }) },
      sentBytes: device.map { Int64(clamping: $0.peers.reduce(0) { $0 &+ $1.sentBytes }) },
      failure: supervisor.machine.failure?.description, failureCode: supervisor.machine.failure?.code,
      notes: (remarks + announcer.problems).filter { $0.tunnel == policy.name }.map { RemarkReport($0) }
        + (supervisor.installed?.refused ?? []).map { RemarkReport(.unsupported, of: policy.name, $0.text) }
        + (supervisor.installed?.run.validities.texts(at: platform.clock.wallClock()) ?? []).map {
          RemarkReport(.credentialExpiring, of: policy.name, $0)
        }
        + policy.limitations.map { RemarkReport(.unsupported, of: policy.name, $0) })
    if isUp, let device, device.sendsInCircles {
      report.notes.append(
        RemarkReport(
          .oneWay, of: policy.name,
          "it sends a thousand times what it receives: its own packets, or those of a relay that carries them, may go into the tunnel again;"
            + " cure: exclude the address of its gateway or of the relay's server (`routes: exclude:`)"))
    }
    (report.through, report.owner) = (policy.through?.name, policy.availability.owner?.text)
    report.provider = supervisor.machine.isRunning ? .init(state.policies.providerForOthers(policy)) : nil
    report.cipher = device?.cipher
    report.usage = policy.provider.isWireGuard ? nil : platform.commands.usage(policy.name).map { .init($0) }
    report.brought = (supervisor.installed?.brought).flatMap { $0.isEmpty ? nil : .init($0) }
    report.questions = (supervisor.installed?.questions ?? []).map {
      .init(
        number: Int($0.number), kind: $0.question.kind.rawValue, prompt: $0.question.prompt, url: $0.question.url,
        hosts: $0.question.kind == .url ? policy.signInHosts.map(\.webServerText) : nil, until: wallClock($0.until))
    }
    report.byName = state.names.report(of: supervisor.policyInForce, isUp: supervisor.machine.level.hasRoutes, at: wallClock)
    (report.transport, report.lookup) = (supervisor.installed?.run.transport, supervisor.lookup.latest.map { .init($0) })
    if case .peerSilent(let before) = supervisor.machine.doubt {
      report.peerSilenceMilliseconds = (before + max(.zero, platform.clock.wallClock() - supervisor.stateSince)).milliseconds
    }
    return report
  }
}

extension Agent {
  /// Adds what the kernel has for each tunnel's link and in its table, and the name servers of tunnels that are up.
  private func addNetwork(to tunnels: inout [StatusReport.Tunnel]) {
    guard let kernel = state.seen.state?.kernel else { return }
    let routes = Dictionary(grouping: kernel.ownRoutes.lazy.filter { $0.kind == .unicast }, by: \.table)
    for (i, report) in tunnels.enumerated() {
      guard let link = report.link, let supervisor = state.tunnels[report.name] else { continue }
      tunnels[i].mtu = kernel.link(named: link)?.mtu
      let addresses = kernel.addresses.lazy.filter { $0.link == link }.map(\.address)
      tunnels[i].addresses = addresses.filter { !($0.address.family == .v6 && $0.address.isLinkLocal) }.map(\.description)
      let inside = (report.table.flatMap { routes[$0] } ?? []).filter { $0.link == link }.map(\.destination).uniqued().sorted()
      tunnels[i].routeCount = inside.count
      tunnels[i].routes = inside.prefix(StatusReport.Tunnel.longestList).map(\.description)
      let dns = supervisor.policyInForce.dnsInForce
      guard supervisor.machine.level.hasRoutes, !dns.servers.isEmpty else { continue }
      tunnels[i].nameServers = dns.servers.map(\.description)
      if dns.isSplit { tunnels[i].domains = dns.matchDomains.prefix(StatusReport.Tunnel.longestList).map(\.description) }
    }
  }

  /// A future moment as wall-clock time.
  private func wallClock(_ moment: Moment) -> Timestamp { platform.clock.wallClock() + max(.zero, moment - now) }

  /// Each probe that a rule depends on, now or earlier on this network.
  private var probeReports: [StatusReport.Probe] {
    reconciler.probes.reports(at: now).map { report in
      StatusReport.Probe(
        name: report.name, answer: report.answer, reason: report.reason,
        answeredAt: report.answeredAt.map { platform.clock.wallClock() - (now - $0) },
        nextAt: report.nextAt.map(wallClock), isWanted: report.isWanted)
    }
  }

  private var resolverReport: StatusReport.Resolver? {
    guard state.resolverLinks != nil else { return nil }
    let choice = state.resolverChoice
    var report = StatusReport.Resolver(
      backend: "\(choice.backend)", reason: choice.reason, splits: choice.splits,
      candidates: choice.candidates.map { .init(backend: $0.name, isChosen: $0.isChosen, reason: $0.reason) })
    report.refused = state.desiredState.refusedDomains.map(\.text)
    report.lookup = choice.lookup
    report.withheld = state.names.withheldReports(of: state.tunnels)
    return report
  }
}

extension WireGuardState {
  /// Whether it sends a thousand times what it receives, and more than any handshakes.
  fileprivate var sendsInCircles: Bool {
    let sent = peers.reduce(0) { $0 &+ $1.sentBytes }
    return sent > 1 << 20 && sent / 1000 > peers.reduce(0) { $0 &+ $1.receivedBytes }
  }
}

extension StatusReport.Usage {
  init(_ usage: ProgramUsage) {
    self.init(processes: usage.processes, memoryBytes: usage.memory, processorMilliseconds: usage.processorTime.milliseconds)
  }
}

extension ManualOverride.Lifetime {
  /// The end of the lifetime, as a word of reports.
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
    .init(file: location.file, line: location.line, column: location.column, severity: severity.rawValue, message: message)
  }
}

extension Agent {
  /// The content of `roamward metrics`: a status, and what has been counted.
  package func metrics(of status: StatusReport) -> MetricsReport {
    MetricsReport(started: startedAt ?? status.time, status: status, counts: announcer.counts)
  }
}
