package import AgentCore
internal import CTextPages
internal import ControlProtocol
internal import Glibc
internal import HostDNS
internal import HostProxies
internal import HostServices
import KernelModel
internal import KernelNetwork
package import LinuxAgent
internal import LinuxIO
import LinuxPlatform
package import Logging
internal import NetworkTypes
internal import RoamwardCore
internal import SystemdIO

/// After it, an agent has usually connected what it can.
private let startTime = Duration.seconds(5)

/// The agent as a process: wires the agent to the kernel's events, files, signals and the local socket.
package final class Daemon {
  private let local: LocalAgent
  var settings: AgentSettings { local.settings }
  var logger: Logger { local.logger }
  var loop: EventLoop { local.loop }
  private var machine: LinuxMachine { local.machine }
  var agent: Agent { local.agent }
  private(set) var watch: KernelWatch?
  var server: ControlServer?
  /// The connection over which polkit is asked and the agent's objects are on D-Bus.
  let bus: SystemBus
  let gatekeeper: Gatekeeper
  var agentBus: AgentBus?
  private var sources: [EventSource] = []
  private var turns = Turns()
  private var files: WatchedFiles?
  private var hostWatch: HostWatch?
  let sleepDelay: SleepDelay
  private var recorder: FlightRecorder { local.recorder }

  /// Takes the locks of the state folder and of the network namespace, and opens the kernel's sockets. Changes nothing yet.
  package init(_ settings: AgentSettings, logger: Logger) throws(PlatformError) {
    local = try LocalAgent(settings, logger: logger)
    // As its clients' requests, after all work of higher priority.
    bus = SystemBus(on: local.loop, priority: .client)
    gatekeeper = Gatekeeper(PolkitAuthority(bus))
    sleepDelay = SleepDelay(bus) { [logger] reason in
      logger.warning(
        "logind does not delay sleep: tunnels with `disconnect-on-sleep` may be up when the machine sleeps",
        metadata: ["reason": "\(reason)"])
    }
  }

  /// Runs until SIGTERM or SIGINT, takes everything down, and returns the exit status. A second signal ends it at once.
  package func run() throws(PlatformError) -> Int32 {
    do throws(SystemError) {
      try listen()
      try connectBus()
      try local.watchLock()
      try watchKernel()
      try watchFirewall()
      watchFiles()
      try watchSignals()
      turns.codeRelease = try loop.at(.now + startTime) { [weak self] in
        ctextpages_release()
        self?.turns.codeRelease = nil
      }
      turns.status = try loop.eachTurn { [weak self] in
        guard let self else { return }
        turns.status?.isEnabled = false
        // Another tunnel may have other files to watch.
        watchFacts()
        ServiceManager.status(summary)
      }
      try record()
    } catch {
      throw PlatformError("\(error)")
    }
    agent.announcer.receiveWake = { [weak self] reason, tunnel in
      self?.logger.debug(
        "awake", metadata: tunnel.map { ["for": "\(reason.rawValue)", "tunnel": "\($0)"] } ?? ["for": "\(reason.rawValue)"])
    }
    agent.announcer.receive = { [weak self] in self?.happened($0) }
    local.recover(except: Set(local.state.handedOver))
    logger.notice("roamwardd starts", metadata: ["pid": "\(getpid())", "policies": "\(settings.policyLayers.joined(separator: ":"))"])
    loop.enableWatchdog()
    agent.start()
    ServiceManager.ready(status: summary)
    let code = try local.runLoop()
    recorder.end(at: .now)
    local.leave()
    return code
  }

  /// Removes leftover state of a killed agent, and returns.
  package func cleanUp(unlessHandedOver: Bool) throws(PlatformError) -> Int32 { try local.cleanUp(unlessHandedOver: unlessHandedOver) }

  /// Keeps the record. What there is to write is written in the turn that made it: the machine does not wake for it.
  private func record() throws(SystemError) {
    let turn = try loop.eachTurn { [weak self] in
      guard let self else { return }
      turns.record?.isEnabled = false
      recorder.flush(at: .now)
    }
    turn.setPriority(.request)
    turns.record = turn
    recorder.entriesWait = { turn.isEnabled = true }
    agent.announcer.publishPass = { [weak self] in self?.recorder.add($0) }
  }

  // MARK: Events

  private func watchKernel() throws(SystemError) {
    let watch: KernelWatch
    do throws(NetlinkError) {
      watch = try KernelWatch(machine)
    } catch {
      throw SystemError(code: error.code, operation: "listen to the kernel's events")
    }
    self.watch = watch
    let host = HostWatch(loop) { [weak self] in self?.agent.networkChanged() }
    hostWatch = host
    machine.needChanged = { host.need($0) }
    machine.hostChanged = { [weak self] isFirst in isFirst ? self?.agent.factsCame() : self?.agent.networkChanged() }
    machine.resolver.changed = { [weak self] in self?.agent.factsCame() }
    machine.proxies.changed = { [weak self] in self?.agent.factsCame() }
    machine.hearsSleep = true
    machine.slept = { [weak self] isAsleep in
      self?.logger.info("sleep", metadata: ["state": isAsleep ? "falling asleep" : "awake", "reason": "\(ReasonCode.slept.rawValue)"])
      if let self { sleepDelay.follow(isAsleep, agent) }
    }
    let heldTurn = try loop.eachTurn { [weak self] in
      self?.turns.held?.isEnabled = false
      self?.kernelSpoke(watch)
    }
    turns.held = heldTurn
    machine.eventsHeld = { heldTurn.isEnabled = true }
    for descriptor in watch.descriptors {
      sources.append(try loop.whenReadable(descriptor) { [weak self] in self?.kernelSpoke(watch) })
    }
  }

  /// Subscribes to changes of the firewall. A kernel without nftables reports none, and has none of our tables.
  private func watchFirewall() throws(SystemError) {
    guard let events = try? FirewallEvents() else { return }
    sources.append(
      try loop.whenReadable(events.descriptor) { [weak self] in
        guard events.drain(), let self, !machine.firewall.isAsPlanned else { return }
        agent.damaged()
      })
  }

  private func kernelSpoke(_ watch: KernelWatch) {
    switch watch.change() {
    case .none: break
    case .underlay: agent.networkChanged()
    case .ours: agent.damaged()
    case .way: agent.networkLost()
    }
  }

  private func watchFiles() {
    files = WatchedFiles(
      on: loop,
      policiesChanged: { [weak self] in self?.reloadPolicies() },
      factsChanged: { [weak self] in
        self?.watchFacts()
        self?.machine.filesChanged()
        self?.agent.networkChanged()
      },
      resolverChanged: { [weak self] in
        guard let self else { return }
        watchFacts()
        agent.resolverFileChanged(to: machine.resolvConf.observe())
      })
    machine.watchLimit = { [weak self] in self?.files?.limit }
    watchPolicies()
    watchFacts()
  }

  func watchPolicies() { files?.watchPolicies(folders: settings.policyLayers, files: agent.policyDependencies) }

  private func watchFacts() {
    files?.watchResolver(machine.resolvConf.watchPaths)
    let others = machine.watched
    files?.watchFacts(folders: others.folders, files: [settings.ssidFile].compactMap { $0 } + others.files + (hostWatch?.files ?? []))
  }

  private func watchSignals() throws(SystemError) {
    for signal in [SIGTERM, SIGINT] { sources.append(try loop.onSignal(signal) { [weak self] in self?.terminate() }) }
    sources.append(
      try loop.onSignal(SIGHUP) { [weak self] in
        ServiceManager.reloading()
        self?.reloadPolicies()
        ServiceManager.ready(status: self?.summary ?? "")
      })
  }

  func reloadPolicies() {
    // The watch begins before the read, so that a change in between is noticed.
    watchPolicies()
    agent.policiesChanged()
    watchPolicies()
  }

  private var unitJob: UnitJob?

  private func terminate() {
    if unitJob != nil {
      logger.warning("stopped by a second signal; `roamwardd --cleanup` removes leftover state")
      return loop.stop(code: 1)
    }
    ServiceManager.stopping()
    // A restart, and so an upgrade, keeps the kill switch and tunnels; a stop, a shutdown and a manual signal remove them.
    let job = UnitJob(on: loop)
    unitJob = job
    job.ask(invocation: getenv("INVOCATION_ID").map { String(cString: $0) }, within: Self.jobLimit) { [weak self, unowned job] answer in
      guard let self else { return }
      log(answer)
      machine.descriptorStore.room = job.descriptorRoom
      agent.stop(keepingBlock: answer.keepsBlock, handingOver: answer.isRestart) { [weak self, loop] in
        // No turn follows that would tell it.
        if let self, turns.status?.isEnabled == true { ServiceManager.status(summary) }
        loop.stop()
      }
    }
    // A provider that does not end cannot delay the machine's shutdown.
    if let limit = try? loop.at(.now + Self.jobLimit + .seconds(10), { [weak self] in self?.loop.stop(code: 1) }) { sources.append(limit) }
  }

  /// Five answers of systemd, on a machine that is busy with an upgrade.
  private static let jobLimit = Duration.seconds(5)

  private func log(_ answer: UnitJob.Answer) {
    switch answer {
    case .job(let type): logger.notice("roamwardd stops", metadata: ["job": "\(type)"])
    case .none: logger.notice("roamwardd stops")
    case .unanswered:
      logger.warning(
        "roamwardd stops; systemd did not say in time whether it restarts, so an active kill switch stays; `sudo roamwardd --release` removes it"
      )
    }
  }

  // MARK: Events to clients

  private func happened(_ event: Event.Kind) {
    logger.log(event)
    let timed = Event(time: .now, kind: event)
    server?.publish(timed)
    recorder.add(timed)
    if let shown = HiddenTunnels.publicView(of: agent).shown(event) {
      agentBus?.happened(shown)
    } else {
      agentBus?.happened(event, for: gatekeeper.hidden.users(of: event, agent))
    }
    if case .policy = event { sleepDelay.need(agent.delaysSleep) }
    // At the end of the turn: it is a report on all tunnels, and the one that connects does not wait for it.
    if case .state = event { turns.status?.isEnabled = true }
    // Another network may have other files of facts.
    if case .snapshot = event { watchFacts() }
  }

  private var summary: String {
    let up = agent.connectedTunnels
    return up.isEmpty ? "no tunnel is up" : "up: \(up.joined(separator: ", "))"
  }
}

/// The sources of work at the end of a turn of the event loop, or once after the start.
private struct Turns {
  /// After tunnels have changed: files to watch, and the service manager's status.
  var status: EventSource?
  /// Drains the kernel's announcements from before the last observation.
  var held: EventSource?
  /// Writes the record, after all other work.
  var record: EventSource?
  /// Gives back what only the start has run, once: a third of what is resident.
  var codeRelease: EventSource?
}
