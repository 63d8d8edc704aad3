import AgentCore
internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import NetworkTypes
internal import ProviderGroups
package import RoamwardCore

/// The notes of an agent for its successor, for readers outside the agent.
package struct RecordedState {
  private let notes: NotesOnDisk
  private let path: String

  package init(_ path: String) {
    notes = NotesOnDisk(path)
    self.path = path
  }

  /// The manual overrides that are valid now, on this network.
  package func overrides(on network: NetworkSnapshot) -> [String: ManualOverride] {
    let identity = NetworkIdentity(of: network)
    return notes.overrides.filter { !$0.value.isOver(at: .now, on: identity) }
  }

  /// The guards that the next agent would continue: their programs run, or they stay closed.
  package var guards: [ProgramGuard] {
    let groups = ProviderGroups(note: "\(path)/\(ProviderGroups.noteName)")
    _ = groups.find()
    return notes.guards.compactMap { GuardPresence(in: path).standing($0, in: groups) }
  }

  /// The groups of programs that the next agent would go on with: a program is left in them.
  package var programs: [ProgramGroup] {
    let groups = ProgramGroups()
    return notes.programs.filter { groups.open($0.path, number: $0.group.number)?.isPopulated ?? false }
  }

  /// The folder of policies on trial, if they are in force.
  package var trialLayer: String? { notes.trial == nil ? nil : TrialFolder.path(in: path) }
}

extension ProviderGroups {
  /// Whether a process of this guard is left. A group of the same name that was made later is another one.
  func holds(_ program: ProgramGuard) -> Bool {
    guard let group = existingGuard(of: program.process) else { return false }
    return group.number == program.group.number && group.isPopulated
  }
}
