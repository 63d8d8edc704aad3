package import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore

/// Guards of programs: `roamward guard`.
extension Agent {
  /// Begins a guard for this process, which executes its program after the reply. Before the reply, the kill switch is in force, and the
  /// process is in its control group. Names are resolved first, outside of every tunnel.
  package func beginGuard(
    _ request: GuardRequest, process: Int32, then done: @escaping (Result<GuardReply, RequestError>) -> Void
  ) {
    do throws(RequestError) {
      try checkGuard(request, process: process)
      do throws(PlatformError) { try platform.guards.claim(process) } catch { throw RequestError(code: .failed, message: "\(error)") }
      let endpoints = try request.endpoints.map { text throws(RequestError) in try WantedEndpoint(text) }
      GuardedNames(endpoints).resolve(platform.lookups, on: lastSnapshot.primaryLink) { [weak self] result in
        guard let self else { return }
        do throws(RequestError) {
          // The machine may be another one by now.
          try checkGuard(request, process: process)
          done(.success(try startGuard(request, process: process, endpoints: try result.get().endpoints)))
        } catch {
          done(.failure(error))
        }
      }
    } catch {
      done(.failure(error))
    }
  }

  private func checkGuard(_ request: GuardRequest, process: Int32) throws(RequestError) {
    guard state.policies.isLoaded, !state.stop.isRecovering else {
      throw RequestError(code: .starting, message: "the agent is starting and removes leftover state; try again in a moment")
    }
    func refuse(_ message: String) -> RequestError { RequestError(code: .failed, message: message) }
    if state.stop.isStopping { throw refuse("the agent is stopping") }
    guard process > 0, request.namespace == platform.guards.namespace else {
      throw refuse(
        "the program would run in another network or process namespace than the agent, where its kill switch has no effect;"
          + " start it in the agent's namespaces")
    }
    if let suspension = state.killSwitch.machine.suspension, !suspension.isPortal {
      throw refuse("the kill switch is suspended, and so would be the guard; `roamward resume` ends the suspension")
    }
    if state.killSwitch.machine.programs.contains(where: { $0.process == process }) {
      throw refuse("process \(process) has a guard already")
    }
    guard let name = request.link, let link = state.seen.state?.kernel.link(named: name) else { return }
    guard ProgramGuard.isTunnel(link), Ownership.tunnel(ofAlias: link.alias) == nil else {
      throw refuse("\(name) cannot be the program's link: it is no link of a tunnel, or one of ours; leave it out, or name another")
    }
  }

  private func startGuard(_ request: GuardRequest, process: Int32, endpoints: [GuardedEndpoint]) throws(RequestError) -> GuardReply {
    reconciler.observe()
    let group: ProviderGroup
    do throws(PlatformError) {
      group = try platform.guards.makeGroup(process)
    } catch {
      throw RequestError(
        code: .failed, message: "the program does not start, because the sockets of its control group cannot be marked: \(error)")
    }
    let last = state.seen.state?.kernel.links.map(\.index.value).max() ?? 0
    let new = ProgramGuard(
      process: process, program: request.program, since: platform.clock.wallClock(), endpoints: endpoints, link: request.link,
      lastLinkBefore: last, group: group)
    do throws(RequestError) {
      try refuseToCut(request.sessions, under: new.preview(in: state), cure: "`--even-ssh` does it all the same")
      reconciler.change { $0.killSwitch.machine.programs.append(new) }
      reconciler.lookAgain()
      if let reason = state.reasonWithoutFirewall {
        throw RequestError(code: .failed, message: "the program does not start, because the kill switch cannot block traffic: \(reason)")
      }
      do throws(PlatformError) {
        try platform.guards.admit(new)
      } catch {
        throw RequestError(code: .failed, message: "the program cannot enter its control group: \(error)")
      }
    } catch {
      endGuard(new)
      throw error
    }
    watchGuard(new)
    let links = state.killSwitch.machine.guards(in: state.seen.state).first { $0.guarded == new }?.links ?? []
    return GuardReply(endpoints: endpoints.map(\.description), links: links, presence: platform.guards.presence(new))
  }

  /// Keeps the control groups of programs ready, or removes them.
  func keepGroup() { ProgramLaunch(self).keepGroups() }

  /// Opens the way into a guard's new link at once: its traffic is blocked meanwhile, and no rule depends on it.
  func admitLinksOfGuards(at now: Moment) {
    guard !reconciler.isPassing, !state.killSwitch.machine.programs.isEmpty, reconciler.change({ $0.schedule.looksAtOnce(at: now) })
    else { return }
    let before = state.programGuards
    reconciler.reconverge {
      reconciler.observe()
    } if: {
      state.programGuards != before
    }
    announcer.followFirewall(of: state, platform.recordBlocking)
  }

  // MARK: The end

  /// Resumes the guards that an earlier agent has left, before any other decision.
  func resumeGuards() {
    let found = platform.guards.found()
    reconciler.change { $0.killSwitch.machine.programs = found }
    for program in found where program.heldSince == nil { watchGuard(program) }
    ProgramLaunch(self).resume()
  }

  private func watchGuard(_ program: ProgramGuard) {
    platform.guards.watch(program) { [weak self] end in
      switch end {
      case .wanted: self?.endGuard(program)
      case .unsaid: self?.holdGuard(program)
      }
    }
  }

  /// Ends every guard, with its program, and releases the programs of `roamward run`.
  func endGuards() {
    for program in state.killSwitch.machine.programs { endGuard(program) }
    ProgramLaunch(self).release()
  }

  /// Ends what is left of a program. Its kill switch stays until nothing is.
  private func endGuard(_ program: ProgramGuard) {
    platform.guards.end(program) { [weak self] isGone in
      guard let self else { return }
      if isGone { platform.guards.forget(program) }
      reconciler.change { $0.killSwitch.machine.programs.removeAll { $0.group == program.group } }
      keepGroup()
      reconciler.lookAgain()
    }
  }

  /// Ends what is left of a program, and keeps its kill switch closed: no person has opened it.
  private func holdGuard(_ program: ProgramGuard) {
    var held = program
    held.heldSince = platform.clock.wallClock()
    platform.guards.hold(held)
    reconciler.change { $0.killSwitch.machine.programs = $0.killSwitch.machine.programs.map { $0.group == held.group ? held : $0 } }
    reconciler.lookAgain()
    platform.guards.end(held) { [weak self] _ in self?.keepGroup() }
  }

  /// Ends the guards that stay closed. Returns their programs, for people.
  func openHeldGuards() -> [String] {
    let held = state.killSwitch.machine.programs.filter { $0.heldSince != nil }
    for program in held { platform.guards.forget(program) }
    reconciler.change { $0.killSwitch.machine.programs.removeAll { $0.heldSince != nil } }
    return held.map { "\($0)" }
  }
}

extension ProgramGuard {
  /// The desired state with this guard too.
  fileprivate func preview(in state: AgentState) -> DesiredState {
    var tunnels = state.desiredTunnels
    tunnels.killSwitch.programs.append(self)
    return DesiredState(
      of: tunnels.setups, on: state.underlayFit, portal: state.portalWindow, guards: tunnels.killSwitch.guards(in: state.seen.state),
      programs: tunnels.killSwitch.routed)
  }
}

extension AgentState {
  /// The reason why the wanted table is not in force; `nil`: it is.
  var reasonWithoutFirewall: String? {
    guard case .table(let wanted) = desiredState.firewall else { return "no table is planned" }
    guard let found = seen.state?.firewall else { return "the machine cannot be observed" }
    return found.isSatisfied(by: wanted) ? nil : found.refusal(of: wanted) ?? "its table is not in place"
  }
}
