internal import KernelModel
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

// The restart of the agent (docs/decisions/0049-a-restart-hands-tunnels-and-programs-over.md).
extension InstalledDriver {
  /// Leaves the program to the next agent. While one side owes an answer it cannot be left.
  func handOver() -> DriverHandOver? {
    guard let program = channel.life.usable, !channel.messages.isOpen, let begun = run.begun, begun.link != .unwanted,
      let wanted = begun.wanted, let resumption = program.session.resumption,
      var note = ProviderHandOver(
        resumption, configuration, settings: wanted, network: begun.path, gateways: run.brought.gateways, mark: program.mark),
      let process = platform.installed.handOver(tunnel)
    else { return nil }
    note.process = process
    note.transport = begun.transport
    note.validities = begun.validities.all.values.map { .init(name: $0.name, from: $0.start, until: $0.end) }
    channel.life.leave()
    return DriverHandOver(provider: note.text)
  }

  /// Goes on with the program of another agent. One that this agent would not have started so is ended, and a new one is started.
  func takeOver(_ left: LeftTunnel, on underlay: LinkFacts?) -> Bool {
    guard session == nil, let note = ProviderHandOver(left.provider) else { return false }
    let mark = UInt32(clamping: note.mark)
    guard platform.installed.adopt(tunnel, note.process, mark, { [weak channel] event in channel?.hear(event) }) else {
      channel.sayReplaced("its program has ended")
      return false
    }
    guard let resumed = ProviderSession(resuming: note.resumption, tunnel: channel.shortName, at: now), let settings = note.wantedSettings,
      let known = note.knownNetwork
    else {
      let versions = "it speaks version \(note.version) of the protocol, and this agent version \(ProtocolLimits.version)"
      channel.replace(versions, nil, mark: mark)
      return false
    }
    let own = outlets.outerWay().mark
    if let reason = note.difference(from: configuration.definition, mark: own, left) {
      // One that goes through another tunnel is not asked: it cannot be heard.
      channel.replace(reason, mark == own || note.definition != configuration.definition ? resumed : nil, mark: mark)
      return false
    }
    channel.life.adopt(.init(session: resumed, mark: mark), on: known)
    run.brought.gateways = note.gateways.compactMap { IPAddress($0) }
    judge(settings)
    self.underlay = underlay
    run.begun?.transport = note.transport
    for validity in note.validities ?? [] {
      run.begun?.validities.take(Validity(validity.name, from: validity.from, until: validity.until))
    }
    // It is told again: by another agent.
    tellValidities()
    return true
  }
}
