internal import KernelModel
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

// The restart of the agent (docs/decisions/0049-a-restart-hands-tunnels-and-programs-over.md).
extension InstalledDriver {
  /// Leaves the program to the next agent. While one side owes an answer it cannot be left.
  func handOver() -> DriverHandOver? {
    guard run.isPrepared, !program.isEnding, !isStartDue, !messages.isOpen, let wanted = run.wanted, let resumption = session?.resumption,
      var note = ProviderHandOver(
        resumption, configuration, settings: wanted, network: run.path, gateways: run.brought.gateways, mark: program.mark),
      let process = platform.installed.handOver(tunnel)
    else { return nil }
    note.process = process
    note.transport = run.transport
    note.validities = run.validities.all.values.map { .init(name: $0.name, from: $0.start, until: $0.end) }
    session = nil
    program.isLeft = true
    return DriverHandOver(provider: note.text)
  }

  /// Goes on with the program of another agent. One that this agent would not have started so is ended, and a new one is started.
  func takeOver(_ left: LeftTunnel, on underlay: LinkFacts?) -> Bool {
    guard session == nil, let note = ProviderHandOver(left.provider) else { return false }
    let noted = UInt32(clamping: note.mark)
    guard platform.installed.adopt(tunnel, note.process, noted, { [weak self] event in self?.take(event) }) else {
      return isReplaced("its program has ended", isRunning: false)
    }
    program.mark = noted
    let name = String(decoding: tunnel.utf8.prefix(64), as: UTF8.self)
    guard let resumed = ProviderSession(resuming: note.resumption, tunnel: name, at: now), let settings = note.wantedSettings,
      let known = note.knownNetwork
    else { return isReplaced("it speaks version \(note.version) of the protocol, and this agent version \(ProtocolLimits.version)") }
    if note.definition != configuration.definition { return isReplaced("its policy or its manifest was changed", resumed) }
    if program.mark != outlets.outerWay().mark { return isReplaced("the tunnel that it goes through is another one") }
    if !left.isFitting { return isReplaced("its place among the tunnels is another one", resumed) }
    if !left.hasLink { return isReplaced("its link is gone", resumed) }
    session = resumed
    run.brought.gateways = note.gateways.compactMap { IPAddress($0) }
    judge(settings)
    (run.path, self.underlay, run.isPrepared, run.isTakenOver) = (known, underlay, true, true)
    run.transport = note.transport
    for validity in note.validities ?? [] { run.validities.take(Validity(validity.name, from: validity.from, until: validity.until)) }
    // It is told again: by another agent.
    tellValidities()
    return true
  }

  /// Says why the program of another agent is not taken over, and ends it: after it has stopped its run, if it can be asked to.
  private func isReplaced(_ reason: String, _ resumed: ProviderSession? = nil, isRunning: Bool = true) -> Bool {
    outlets.publish(.log(level: "warning", origin: "agent", text: "the restart of the agent replaces the provider: \(reason)"))
    guard isRunning else { return false }
    program.isOutdated = true
    session = resumed ?? ProviderSession(tunnel: String(decoding: tunnel.utf8.prefix(64), as: UTF8.self), at: now)
    if resumed != nil { perform { [now] in $0.stop(.policyChanged, at: now) } } else { endProgram() }
    return false
  }
}
