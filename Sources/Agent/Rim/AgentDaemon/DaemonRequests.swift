internal import AgentCore
internal import ControlProtocol
internal import Glibc
internal import JSON
internal import LinuxAgent
internal import LinuxIO
internal import LinuxPlatform
internal import Logging
internal import NetworkTypes
internal import RoamwardCore
internal import SystemdIO

/// Requests of the local socket and of D-Bus.
extension Daemon {
  func listen() throws(SystemError) {
    try Folder.make(Folder.parent(of: settings.socket), mode: 0o755)
    server = try ControlServer(
      path: settings.socket, loop: loop,
      authorize: { [weak self] request, caller, done in self?.authorize(request, caller, mayInteract: true, done) },
      shown: { [gatekeeper, agent] event, caller in gatekeeper.view(of: agent, for: caller).shown(event) },
      answerLater: { [weak self] request, caller, done in self?.answerLater(request, from: caller, done) ?? false },
      answer: { [weak self] request, caller in
        self?.answer(request, from: caller) ?? .refused(RequestError(code: .badRequest, message: "the agent is stopping"))
      })
  }

  /// Connects to the system bus, now or when there is one. An agent in a network namespace of its own is not the machine's: it has no name
  /// there, unless its environment names a bus.
  func connectBus() throws(SystemError) {
    guard isNetworkOfFirstProcess() || getenv("DBUS_SYSTEM_BUS_ADDRESS") != nil else { return }
    let objects = try AgentBus(
      bus, loop: loop,
      report: { [weak self] in
        guard let self else { return ReportOnBus() }
        let isPortal = agent.lastSnapshot.captivePortal == .known(true)
        let (ofAll, ofUsers) = gatekeeper.hidden.statuses(of: agent)
        func objects(_ status: StatusReport) -> [String: BusObjects.Object] {
          objectsOnBus(status, version: releaseVersion, isPortal: isPortal)
        }
        return ReportOnBus(objects(ofAll), ofUsers: ofUsers.mapValues(objects))
      },
      serve: { [weak self] request, caller, mayInteract, done in
        self?.authorize(request, caller, mayInteract: mayInteract) { [weak self] error in
          guard let self else { return }
          done(error.map { .refused($0) } ?? answer(request, from: caller))
        }
      })
    objects.refused = { [logger] in logger.warning("no name on the system bus", metadata: ["reason": "\($0)"]) }
    agentBus = objects
    bus.opened = { [weak objects, sleepDelay] in
      objects?.busOpened()
      sleepDelay.busOpened()
    }
    bus.closed = { [weak self] reason in
      self?.logger.debug("no system bus", metadata: ["reason": "\(reason)"])
      self?.gatekeeper.busClosed()
      self?.sleepDelay.busClosed()
      self?.agentBus?.busClosed()
    }
    bus.connect()
  }

  private func authorize(
    _ request: Request, _ caller: Caller, mayInteract: Bool, _ done: @escaping (RequestError?) -> Void
  ) -> Gatekeeper.Pending {
    let right = ProgramLaunch(agent).right(of: request)
    return gatekeeper.decide(RightsQuestion(right, of: caller, mayInteract: mayInteract)) { [weak self] error in
      // A change that polkit or the group has allowed is in the journal with its user.
      if right != .read, !caller.isOwner {
        self?.logger.notice(
          error == nil ? "request allowed" : "request refused",
          metadata: ["right": "\(right.rawValue)", "user": "\(caller.user)", "pid": "\(caller.process)"])
      }
      // A person may take two minutes at a prompt.
      if error == nil, let self, ProgramLaunch(agent).right(of: request) != right {
        return done(
          RequestError(code: .notAllowed, message: "the policies have changed meanwhile, and the request needs another right; repeat it"))
      }
      done(error ?? self.flatMap { $0.gatekeeper.hidden.refusal(of: request, to: $0.agent, from: caller) })
    }
  }

  private func answerLater(_ request: Request, from caller: Caller, _ finish: @escaping (Reply) -> Void) -> Bool {
    let done = gatekeeper.hidden.shown(finish, to: request, of: agent, for: caller)
    switch request {
    case .message(let tunnel, let content): agent.message(tunnel, content, then: done)
    case .guard(let program): begin(program, from: caller, done)
    case .release(let release):
      guard let tunnel = release.signIn else { return false }
      logger.suspended(release, by: caller)
      agent.openSignIn(of: tunnel, release, then: done)
    default: return false
    }
    return true
  }

  private func begin(_ program: GuardRequest, from caller: Caller, _ reply: @escaping (Reply) -> Void) {
    agent.beginGuard(program, process: caller.process) { [logger] result in
      switch result {
      case .success(let begun):
        logger.notice(
          "guard begins",
          metadata: [
            "program": "\(escaped(program.program))", "pid": "\(caller.process)", "endpoints": "\(begun.endpoints.joined(separator: ","))",
          ])
        reply(.done(JSON(encoding: begun)))
      case .failure(let error): reply(.refused(error))
      }
    }
  }

  /// The report of now, as this caller may read it.
  private func status(for caller: Caller) -> StatusReport {
    agent.refresh()
    var report = agent.status(at: .now, process: Int(getpid()))
    report.counters.events = watch?.counters.events ?? 0
    report.counters.overflows = watch?.counters.overflows ?? 0
    return gatekeeper.view(of: agent, for: caller).shown(caller.readsOthers ? report : report.withoutOthers)
  }

  private func answer(_ request: Request, from caller: Caller) -> Reply {
    do throws(RequestError) {
      switch request {
      case .status: return .done(JSON(encoding: status(for: caller)))
      case .metrics:
        return .done(JSON(encoding: gatekeeper.view(of: agent, for: caller).shown(agent.metrics(of: status(for: caller)))))
      case .network:
        // A network is recognised again by this fact, whether the policies need it or not.
        agent.refresh(for: [.gatewayMAC])
        return .done(JSON(encoding: NetworkReply(network: agent.lastSnapshotWithSources.json, time: .now)))
      case .monitor(let snapshots):
        if snapshots { return .done(JSON(encoding: NetworkReply(network: agent.lastSnapshot.json, time: .now))) }
      case .override(let name, let override):
        try agent.override(name, override)
        if let members = agent.turns[name]?.members { return .done(["tunnels": JSON(members)]) }
      case .start(let tunnel, let override, let options): try agent.override(tunnel, override, start: options, isOwner: caller.isOwner)
      case .resume(let tunnel): try agent.resume(tunnel, except: tunnel == nil ? gatekeeper.view(of: agent, for: caller).hidden : [])
      case .release(let release):
        logger.suspended(release, by: caller)
        return .done(JSON(encoding: try agent.release(release)))
      case .guard: throw RequestError(code: .badRequest, message: "a guard is answered later")
      case .run(let program): return .done(JSON(encoding: try ProgramLaunch(agent).begin(program, from: caller, logger)))
      case .reload: reloadPolicies()
      case .apply(let request):
        logger.warning(
          "policies applied by hand",
          metadata: ["files": "\(request.files.map(\.name).joined(separator: ","))", "user": "\(caller.user)", "pid": "\(caller.process)"])
        try agent.apply(request)
        watchPolicies()
      case .answer(let tunnel, let question, let answer): try agent.answer(tunnel, question, with: answer)
      // It is answered later.
      case .message: break
      case .confirm:
        try agent.confirmTrial()
        watchPolicies()
      case .revert:
        try agent.revertTrial()
        watchPolicies()
      }
      return .done([:])
    } catch {
      return gatekeeper.hidden.shown(.refused(error), to: request, of: agent, for: caller)
    }
  }
}

extension Logger {
  /// Logs that a person has suspended the kill switch.
  fileprivate func suspended(_ release: ReleaseRequest, by caller: Caller) {
    let window = release.signIn.map { "window for the sign-in of \(escaped($0))" } ?? "portal window"
    let what = !release.isPortal ? "completely" : release.programs.map { "\(window) for programs in \($0)" } ?? window
    warning(
      "kill switch suspended by hand",
      metadata: [
        "reason": "\(ReasonCode.killSwitchSuspended.rawValue)", "how": "\(what)", "user": "\(caller.user)", "pid": "\(caller.process)",
      ])
  }
}

extension ProgramLaunch {
  /// The right that a request needs now. The policies may give a program its route.
  fileprivate func right(of request: Request) -> Right {
    var request = request
    // A refusal for another reason follows.
    if case .run(let program) = request, let resolved = try? self.resolved(program) { request = .run(resolved) }
    return request.right(opensKillSwitch: policies.opensKillSwitch, hasKillSwitch: hasKillSwitch)
  }

  /// A process on the other end of the local socket alone can be moved: the number of one on D-Bus may be another's by now.
  fileprivate func begin(_ program: RunRequest, from caller: Caller, _ logger: Logger) throws(RequestError) -> RunReply {
    var startTime: UInt64?
    if case .process(_, let time) = caller.subject { startTime = time }
    if caller.isOwner, caller.subject == nil { startTime = PeerIdentity.startTime(of: caller.process) }
    let reply = try begin(program, process: caller.process, startTime: startTime, user: caller.user)
    logger.notice(
      "program begins",
      metadata: [
        "program": "\(escaped(program.program))", "through": "\(program.tunnel ?? "(outside)")", "user": "\(caller.user)",
        "pid": "\(caller.process)",
      ])
    return reply
  }
}
