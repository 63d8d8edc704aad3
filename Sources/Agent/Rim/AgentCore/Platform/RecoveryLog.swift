package import NetworkTypes
package import RoamwardCore

/// Write-ahead notes on disk about steps in progress, for the next agent after a crash.
package struct RecoveryLog {
  /// Links whose creation has begun and that still exist. After a crash they are ours, although they may have no alias
  /// (`KernelState.unfinished`).
  package var unfinishedLinks: () -> Set<String>
  package var recordLink: (String) -> Void
  package var forgetLink: (String) -> Void
  /// Commands whose `up` has begun, and whose `down` is due.
  package var startedCommands: () -> [String: CommandProviderConfiguration]
  package var recordCommand: (String, CommandProviderConfiguration) -> Void
  package var forgetCommand: (String) -> Void
  /// Guards whose control group may have a process in it.
  package var guards: () -> [ProgramGuard]
  package var recordGuard: (ProgramGuard) -> Void
  /// Forgets the guard of a process.
  package var forgetGuard: (Int32) -> Void
  /// The groups of programs that were started with a route of their own.
  package var programs: () -> [ProgramGroup]
  package var savePrograms: ([ProgramGroup]) -> Void
  /// Manual overrides, which outlive the agent and the boot.
  package var overrides: () -> [String: ManualOverride]
  package var saveOverrides: ([String: ManualOverride]) -> Void
  /// The tunnels that the last agent has left for this one; forgets them.
  package var takeHandOver: () -> HandOver
  package var recordHandOver: (HandOver) -> Void
  /// The present problems with the notes, as messages. Tries again to write those that are not on disk.
  package var troubles: () -> [String]
  /// Whether notes are not on disk yet.
  package var isBehind: () -> Bool
  /// The latest time at which an agent has written something; `nil`: never.
  package var latestTime: () -> Timestamp?

  package init(
    unfinishedLinks: @escaping () -> Set<String>, recordLink: @escaping (String) -> Void, forgetLink: @escaping (String) -> Void,
    startedCommands: @escaping () -> [String: CommandProviderConfiguration],
    recordCommand: @escaping (String, CommandProviderConfiguration) -> Void, forgetCommand: @escaping (String) -> Void,
    overrides: @escaping () -> [String: ManualOverride], saveOverrides: @escaping ([String: ManualOverride]) -> Void,
    troubles: @escaping () -> [String], guards: @escaping () -> [ProgramGuard] = { [] },
    recordGuard: @escaping (ProgramGuard) -> Void = { _ in }, forgetGuard: @escaping (Int32) -> Void = { _ in },
    programs: @escaping () -> [ProgramGroup] = { [] }, savePrograms: @escaping ([ProgramGroup]) -> Void = { _ in },
    takeHandOver: @escaping () -> HandOver = { HandOver() }, recordHandOver: @escaping (HandOver) -> Void = { _ in },
    isBehind: @escaping () -> Bool = { false }, latestTime: @escaping () -> Timestamp? = { nil }
  ) {
    self.latestTime = latestTime
    self.isBehind = isBehind
    self.takeHandOver = takeHandOver
    self.recordHandOver = recordHandOver
    self.guards = guards
    self.recordGuard = recordGuard
    self.forgetGuard = forgetGuard
    self.programs = programs
    self.savePrograms = savePrograms
    self.unfinishedLinks = unfinishedLinks
    self.recordLink = recordLink
    self.forgetLink = forgetLink
    self.startedCommands = startedCommands
    self.recordCommand = recordCommand
    self.forgetCommand = forgetCommand
    self.overrides = overrides
    self.saveOverrides = saveOverrides
    self.troubles = troubles
  }
}
