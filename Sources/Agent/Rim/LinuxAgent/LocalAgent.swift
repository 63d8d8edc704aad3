package import AgentCore
internal import ControlProtocol
internal import HostDNS
internal import HostServices
internal import KernelModel
package import LinuxIO
package import LinuxPlatform
package import Logging
internal import NetworkTypes
internal import ProviderGroups
internal import RoamwardCore
package import SystemdIO
internal import TunnelProviders

/// The agent and the machine that it works on: the locks, the state folder, and what a killed agent has left. It hears of no event and has
/// no clients: the daemon adds these.
package final class LocalAgent {
  package let settings: AgentSettings
  package let logger: Logger
  package let loop: EventLoop
  package let machine: LinuxMachine
  package let agent: Agent
  package let state: StateFolder
  package let recorder: FlightRecorder
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
    recorder = FlightRecorder(folder: HistoryFolder(path: HistoryFolder.path(in: settings.stateDirectory)))
    let platform = Platform.linux(machine, loop: loop, state: state, recorder: recorder, policyLayers: settings.policyLayers)
    agent = Agent(platform: platform, settle: settings.settle, connectivityCheck: settings.connectivityCheck)
  }

  package func watchLock() throws(SystemError) { try namespaceLock.watch(on: loop) }

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
    leave()
    for path in ControlSocket.paths(of: settings.socket) { FileDescriptor.removeDeadSocket(path) }
    return code
  }

  /// Finishes a killed agent's change of resolv.conf, and ends the programs that it started: they would undo the following steps.
  /// `kept`: the tunnels that it has handed over.
  package func recover(except kept: Set<String> = []) {
    let notes = state.recoveryLog
    // A unit in a slice of ours whose note is lost is to be stopped as any other.
    let known = notes.startedCommands()
    for (tunnel, unit) in UnitDropIn.units() where known[tunnel] == nil && !kept.contains(tunnel) {
      notes.recordCommand(tunnel, unit.stopCommand)
    }
    let (links, commands) = (notes.unfinishedLinks(), notes.startedCommands().filter { !kept.contains($0.key) })
    if !links.isEmpty || !commands.isEmpty {
      let known = (try? machine.observe(ObservationRequest(facts: [])).state.kernel) ?? KernelState()
      MarkedProcess.end { $0.isLeftOver(by: links, commands, known) }
    }
    _ = machine.providerGroups.find()
    // A tunnel whose `down` command is due keeps its programs: that command ends them.
    for tunnel in machine.providerGroups.tunnels where commands[tunnel] == nil && !kept.contains(tunnel) {
      machine.providerGroups.end(tunnel)
    }
    recoverResolvConf()
  }

  /// At the end: what no tunnel uses any more.
  package func leave() {
    machine.providerGroups.removeUnused()
    recoverResolvConf()
  }

  private func recoverResolvConf() {
    do { try machine.resolvConf.recover() } catch { logger.error("resolv.conf", metadata: ["what": "\(error)"]) }
  }

  package func runLoop() throws(PlatformError) -> Int32 {
    do throws(SystemError) { return try loop.run() } catch { throw PlatformError("\(error)") }
  }
}
