package import KernelModel
package import RoamwardCore

/// Control groups and processes of guards (`roamward guard`).
package struct GuardPlatform {
  /// The number of the agent's network namespace.
  package var namespace: Int64
  /// The guards of an earlier agent with a process left in their groups. Groups without one are removed, and forgotten on disk.
  package var found: () -> [ProgramGuard]
  /// Holds on to a process, so that another one that gets its number later is not taken for it, until it is admitted or
  /// has ended.
  package var claim: (Int32) throws(PlatformError) -> Void
  /// Creates the group of a process's guard, in which sockets are marked. The process is not in it yet.
  package var makeGroup: (Int32) throws(PlatformError) -> ProviderGroup
  /// Notes the guard on disk, and moves its process into the group. Throws if the process has ended meanwhile.
  package var admit: (ProgramGuard) throws(PlatformError) -> Void
  /// Calls back once, when the program's process has ended; also if it had ended before.
  package var watch: (ProgramGuard, @escaping () -> Void) -> Void
  /// Ends what is left in the group: SIGTERM, and two seconds later SIGKILL. Then removes the group and the note, and calls back.
  package var end: (ProgramGuard, @escaping () -> Void) -> Void
  /// What the processes of the group use now; `nil`: none runs, or it is not known.
  package var usage: (ProgramGuard) -> ProgramUsage?

  package init(
    namespace: Int64, found: @escaping () -> [ProgramGuard], claim: @escaping (Int32) throws(PlatformError) -> Void,
    makeGroup: @escaping (Int32) throws(PlatformError) -> ProviderGroup,
    admit: @escaping (ProgramGuard) throws(PlatformError) -> Void, watch: @escaping (ProgramGuard, @escaping () -> Void) -> Void,
    end: @escaping (ProgramGuard, @escaping () -> Void) -> Void, usage: @escaping (ProgramGuard) -> ProgramUsage?
  ) {
    self.namespace = namespace
    self.found = found
    self.claim = claim
    self.makeGroup = makeGroup
    self.admit = admit
    self.watch = watch
    self.end = end
    self.usage = usage
  }

  /// Every guard fails.
  package static var unsupported: GuardPlatform {
    GuardPlatform(
      namespace: 0, found: { [] }, claim: { _ in },
      makeGroup: { _ throws(PlatformError) in throw PlatformError("this platform has no control groups") },
      admit: { _ throws(PlatformError) in throw PlatformError("this platform has no control groups") }, watch: { _, _ in },
      end: { _, done in done() }, usage: { _ in nil })
  }
}
