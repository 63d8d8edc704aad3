package import AgentCore
internal import CTextPages
internal import ControlProtocol
internal import Glibc
internal import HostDNS
internal import HostServices
internal import JSON
import KernelModel
internal import KernelNetwork
internal import LinuxIO
import LinuxPlatform
package import Logging
internal import NetworkTypes
internal import ProviderGroups
package import RoamwardCore
internal import SystemdIO
internal import TunnelProviders

/// The agent's paths and options.
package struct AgentSettings: Sendable {
  package var policyLayers = PolicyLayers.standard
  package var stateDirectory = "/var/lib/roamward"
  package var socket = ControlSocket.standard
  package var ssidFile: String?
  package var resolvConf = "/etc/resolv.conf"
  /// The delay between a network change and its observation.
  package var settle = Duration.milliseconds(500)
  /// The check for internet access or a captive portal; `nil`: none.
  package var connectivityCheck: ConnectivityCheck?

  package init() {}
}

/// The agent as a process: wires the agent to the kernel's events, files, signals and the local socket.
package final class Daemon {
  let settings: AgentSettings
  let logger: Logger
  let loop: EventLoop
  private let machine: LinuxMachine
  let agent: Agent
  private(set) var watch: KernelWatch?
  var server: ControlServer?
  /// The connection over which polkit is asked and the agent's objects are on D-Bus.
  let bus: SystemBus
  let gatekeeper: Gatekeeper
  var agentBus: AgentBus?
  private var sources: [EventSource] = []
  private var turns = Turns()
  /// After it, an agent has usually connected what it can.
  private static let startTime = Duration.seconds(5)
  private var files: WatchedFiles?
  private var hostWatch: HostWatch?
  private let state: StateFolder
  private let recorder: FlightRecorder
  private let namespaceLock: GuardedLock

  /// Takes the locks of the state folder and of the network namespace, and opens the kernel's sockets. Changes nothing yet.
  package init(_ settings: AgentSettings, logger: Logger) throws(PlatformError) {
    self.settings = settings
    self.logger = logger
    do {
      loop = try EventLoop()
      state = try StateFolder(path: settings.stateDirectory)
      namespaceLock = GuardedLock(try NamespaceLock())
    } catch {
      throw PlatformError("\(error)")
    }
    machine = try LinuxMachine(
      ssidFile: settings.ssidFile, resolvConf: settings.resolvConf, stateDirectory: settings.stateDirectory, loop: loop)
    // As its clients' requests, after all work of higher priority.
    bus = SystemBus(on: loop, priority: .client)
    gatekeeper = Gatekeeper(PolkitAuthority(bus))
    recorder = FlightRecorder(folder: HistoryFolder(path: HistoryFolder.path(in: settings.stateDirectory)))
    let platform = Platform.linux(machine, loop: loop, state: state, recorder: recorder, policyLayers: settings.policyLayers)
    agent = Agent(platform: platform, settle: settings.settle, connectivityCheck: settings.connectivityCheck)
  }

  /// Runs until SIGTERM or SIGINT, takes everything down, and returns the exit status. A second signal ends it at once.
  package func run() throws(PlatformError) -> Int32 {
    do throws(SystemError) {
      try listen()
      try connectBus()
      try namespaceLock.watch(on: loop)
      try watchKernel()
      try watchFirewall()
      watchFiles()
      try watchSignals()
      turns.codeRelease = try loop.at(.now + Self.startTime) { [weak self] in
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
    recover(except: Set(state.handedOver))
    logger.notice("roamwardd starts", metadata: ["pid": "\(getpid())", "policies": "\(settings.policyLayers.joined(separator: ":"))"])
    loop.enableWatchdog()
    agent.start()
    ServiceManager.ready(status: summary)
    let code = try runLoop()
    recorder.end(at: .now)
    machine.providerGroups.removeUnused()
    recoverResolvConf()
    return code
  }

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

  /// Removes leftover state of a killed agent, and returns. `unlessHandedOver`: does nothing if an agent has left tunnels for the next one.
  package func cleanUp(unlessHandedOver: Bool = false) throws(PlatformError) -> Int32 {
    if unlessHandedOver, !state.handedOver.isEmpty {
      logger.notice("tunnels stay up for the next agent", metadata: ["tunnels": "\(state.handedOver.joined(separator: ", "))"])
      return 0
    }
    recover()
    agent.announcer.receive = { [weak self] in self?.logger.log($0) }
    agent.cleanUp { [loop] in loop.stop() }
    let code = try runLoop()
    machine.providerGroups.removeUnused()
    recoverResolvConf()
    for path in ControlSocket.paths(of: settings.socket) { FileDescriptor.removeDeadSocket(path) }
    return code
  }

  /// Finishes a killed agent's change of resolv.conf, and ends the programs that it started: they would undo the following steps.
  /// `kept`: the tunnels that it has handed over.
  private func recover(except kept: Set<String> = []) {
    let notes = state.recoveryLog
    // A unit in a slice of ours whose note is lost is to be stopped as any other.
    let known = notes.startedCommands()
    for (tunnel, unit) in UnitDropIn.units() where known[tunnel] == nil && !kept.contains(tunnel) {
      notes.noteCommand(tunnel, unit.stopCommand)
    }
    let (links, commands) = (notes.unfinishedLinks(), notes.startedCommands().filter { !kept.contains($0.key) })
    if !links.isEmpty || !commands.isEmpty {
      let known = (try? machine.observe(ObservationRequest(facts: [])).state.kernel) ?? KernelState()
      MarkedProcess.end { $0.isLeftOver(by: links, commands, known) }
    }
    _ = machine.providerGroups.find()
    // What a `down` is still due for ends with it.
    for tunnel in machine.providerGroups.tunnels where commands[tunnel] == nil && !kept.contains(tunnel) {
      machine.providerGroups.end(tunnel)
    }
    recoverResolvConf()
  }

  private func recoverResolvConf() {
    do { try machine.resolvConf.recover() } catch { logger.error("resolv.conf", metadata: ["what": "\(error)"]) }
  }

  private func runLoop() throws(PlatformError) -> Int32 {
    do throws(SystemError) { return try loop.run() } catch { throw PlatformError("\(error)") }
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
    machine.hearsSleep = true
    machine.slept = { [weak self] isAsleep in
      self?.logger.info("sleep", metadata: ["state": isAsleep ? "falling asleep" : "awake", "reason": "\(ReasonCode.slept.rawValue)"])
      if !isAsleep { self?.agent.woke() }
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

  private var isTerminating = false
  private var unitJob: UnitJob?

  private func terminate() {
    if isTerminating {
      logger.warning("stopped by a second signal; `roamwardd --cleanup` removes leftover state")
      return loop.stop(code: 1)
    }
    isTerminating = true
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
    agentBus?.happened(event)
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

/// What is done at the end of a turn of the loop, or once after the start.
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
