package import KernelModel
package import RoamwardCore

/// The end of `roamward guard`.
package enum GuardEnd: Sendable {
  /// Its program ended with code 0, or a person ended it: it has removed its file.
  case wanted
  /// It said nothing: SIGKILL, the OOM killer, a crash.
  case unsaid
}

/// Control groups and processes of guards (`roamward guard`).
package struct GuardPlatform {
  /// The number of the agent's network namespace.
  package var namespace: Int64
  /// The guards of an earlier agent: those with a process left in their groups, and those that stay closed, because their end was not
  /// wanted. All others are removed, and forgotten on disk.
  package var found: () -> [ProgramGuard]
  /// Holds on to a process, so that another one that gets its number later is not taken for it, until it is admitted or
  /// has ended.
  package var claim: (Int32) throws(PlatformError) -> Void
  /// Creates the group of a process's guard, in which sockets are marked. The process is not in it yet.
  package var makeGroup: (Int32) throws(PlatformError) -> ProviderGroup
  /// Notes the guard on disk, and moves its process into the group. Throws if the process has ended meanwhile.
  package var admit: (ProgramGuard) throws(PlatformError) -> Void
  /// Calls back once, when the process of `roamward guard` has ended; also if it had ended before.
  package var watch: (ProgramGuard, @escaping (GuardEnd) -> Void) -> Void
  /// Ends what is left in the group: SIGTERM, and two seconds later SIGKILL. Then removes the group, and calls back with whether it is
  /// gone; if it is not, once more when it is.
  package var end: (ProgramGuard, @escaping (Bool) -> Void) -> Void
  /// Notes on disk that the guard stays closed.
  package var hold: (ProgramGuard) -> Void
  /// Removes the note of a guard that is over.
  package var forget: (ProgramGuard) -> Void
  /// The file that `roamward guard` creates before its program starts, and removes before an end that is wanted; `nil`: none can be.
  package var presence: (ProgramGuard) -> String?
  /// Returns the memory and processor time that the group's processes use; `nil`: none runs, or it is not known.
  package var usage: (ProgramGuard) -> ProgramUsage?

  package init(
    namespace: Int64, found: @escaping () -> [ProgramGuard], claim: @escaping (Int32) throws(PlatformError) -> Void,
    makeGroup: @escaping (Int32) throws(PlatformError) -> ProviderGroup,
    admit: @escaping (ProgramGuard) throws(PlatformError) -> Void, watch: @escaping (ProgramGuard, @escaping (GuardEnd) -> Void) -> Void,
    end: @escaping (ProgramGuard, @escaping (Bool) -> Void) -> Void, hold: @escaping (ProgramGuard) -> Void = { _ in },
    forget: @escaping (ProgramGuard) -> Void = { _ in }, presence: @escaping (ProgramGuard) -> String? = { _ in nil },
    usage: @escaping (ProgramGuard) -> ProgramUsage?
  ) {
    self.namespace = namespace
    self.found = found
    self.claim = claim
    self.makeGroup = makeGroup
    self.admit = admit
    self.watch = watch
    self.end = end
    self.hold = hold
    self.forget = forget
    self.presence = presence
    self.usage = usage
  }

  /// Every guard fails.
  package static var unsupported: GuardPlatform {
    GuardPlatform(
      namespace: 0, found: { [] }, claim: { _ in },
      makeGroup: { _ throws(PlatformError) in throw PlatformError("this platform has no control groups") },
      admit: { _ throws(PlatformError) in throw PlatformError("this platform has no control groups") }, watch: { _, _ in },
      end: { _, done in done(true) }, usage: { _ in nil })
  }
}
