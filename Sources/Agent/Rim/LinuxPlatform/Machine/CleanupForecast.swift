package import AgentCore
internal import ControlProtocol
internal import Glibc
internal import HostServices
package import KernelModel
package import LinuxIO
internal import NetworkTypes
internal import ProviderGroups
package import RoamwardCore
internal import TunnelProviders

extension LinuxMachine {
  /// The actions of `roamwardd --cleanup`, in its order, a line each. Changes nothing.
  package func cleanupForecast(stateDirectory: String, socket: String) throws(PlatformError) -> [String] {
    let notes = NotesOnDisk(stateDirectory)
    var observed = try observeForLeftOvers()
    observed.unfinishedLinks = observed.kernel.unfinished(among: notes.links)
    var lines = MarkedProcess.all.filter { $0.isLeftOver(by: notes.links, notes.startedCommands, observed.kernel) }.map {
      "kill \($0.process) (\(escaped($0.command.joined(separator: " "))))"
    }
    for (tunnel, command) in notes.startedCommands.sorted(by: { $0.key < $1.key }) {
      lines.append("run \(command.down.joined(separator: " ")) (pending `down` of \(tunnel))")
      guard let unit = ServiceProviderConfiguration(stoppedBy: command) else { continue }
      let (dropIn, slice) = (UnitDropIn(unit.service.name), ProviderGroups.slice(of: tunnel))
      if dropIn.slice == slice { lines += ["rm \(dropIn.path)", "systemctl daemon-reload"] }
      lines.append("systemctl stop \(slice)")
    }
    if providerGroups.find().group != nil, let name = providerGroups.name {
      for tunnel in providerGroups.tunnels where providerGroups.existingGroup(of: tunnel)?.isPopulated ?? false {
        lines.append("kill the processes of \(escaped(tunnel)) that are left in \(escaped(name))")
      }
      for process in providerGroups.guards where providerGroups.existingGuard(of: process)?.isPopulated ?? false {
        lines.append("kill the processes of guard \(process) that are left in \(escaped(name))")
      }
      lines += ["rmdir \(escaped(name))", "rm \(stateDirectory)/\(ProviderGroups.noteName)"]
    }
    var wanted = DesiredState(keeping: providerGroups.programs.running(notes, &lines, in: stateDirectory))
    wanted.firewall = .asItIs
    lines += Plan(from: observed, to: wanted).steps.map(\.description)
    for link in notes.links.sorted() where access(UserspaceWireGuard.socketPath(of: link), F_OK) == 0 {
      lines.append("rm \(UserspaceWireGuard.socketPath(of: link))")
    }
    lines += notes.notes.keys.sorted().filter { name in ["link-", "command-", GuardNote.prefix].contains(where: name.hasPrefix) }.map {
      "rm \(stateDirectory)/\($0)"
    }
    lines += Folder.names(in: stateDirectory, withPrefix: GuardPresence.prefix).sorted().map { "rm \(stateDirectory)/\($0)" }
    let isHeldBack = observed.firewall.isGuarding
    if !isHeldBack { lines += BlockedTrafficRecord().files.map { "rm \($0.path)" } }
    lines += ControlSocket.paths(of: socket).filter { FileDescriptor.isDeadSocket($0) }.map { "rm \($0)" }
    return lines
  }
}

extension MarkedProcess {
  /// Whether an agent that died has left it unfinished: an engine whose link has no alias yet, or a command's program that still runs.
  package func isLeftOver(by links: Set<String>, _ commands: [String: CommandProviderConfiguration], _ kernel: KernelState) -> Bool {
    if let link = marks["ROAMWARD_LINK"] {
      return links.contains(link) && kernel.link(named: link).flatMap { Ownership.tunnel(ofAlias: $0.alias) } == nil
    }
    return isRun && marks["ROAMWARD_TUNNEL"].map { commands[$0] != nil } ?? false
  }
}
