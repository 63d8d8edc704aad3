package import RoamwardCore

/// Control groups of programs whose packets have a route of their own (`roamward run`).
package struct ProgramPlatform {
  package typealias Follower = (_ present: [ProgramGroup], _ early: [String], _ failures: [ProgramGroup: String]) -> Void

  /// The number of the agent's network namespace.
  package var namespace: Int64
  /// The groups of an earlier agent in which a program is left. All others are removed.
  package var found: () -> [ProgramGroup]
  /// The path of the group with this mark for a process; `nil`: the process is gone, or in no version 2 control group.
  package var path: (Int32, ProgramRoute) -> String?
  /// Creates the group, in which sockets are marked from now on, and returns it with its number.
  package var make: (ProgramGroup) throws(PlatformError) -> ProgramGroup
  /// Moves a process into the group. Throws if it is not the one that started at this time, in clock ticks since the boot.
  package var admit: (Int32, UInt64, ProgramGroup) throws(PlatformError) -> Void
  /// Calls back once when no process is left in the group; soon if there is none.
  package var watch: (ProgramGroup, @escaping () -> Void) -> Void
  /// Removes an empty group.
  package var remove: (ProgramGroup) -> Void
  /// Moves the programs of a group back to where they were started, and removes it.
  package var release: (ProgramGroup) -> Void
  /// Marks the sockets of the control groups that policies name, as long as they exist, and no longer those of others. Calls back with the
  /// present ones whenever these change, with the paths of those in which a program ran before, and with the reasons why sockets are not
  /// marked in others.
  package var follow: ([ProgramGroup], @escaping Follower) -> Void
  /// A process that was admitted to the group, runs, and is not in it any more; `nil`: there is none.
  package var left: (ProgramGroup) -> Int32?
  /// Notes the groups on disk.
  package var save: ([ProgramGroup]) -> Void
  /// Returns the memory and processor time that the group's processes use; `nil`: none runs, or it is not known.
  package var usage: (ProgramGroup) -> ProgramUsage?

  package init(
    namespace: Int64, found: @escaping () -> [ProgramGroup], path: @escaping (Int32, ProgramRoute) -> String?,
    make: @escaping (ProgramGroup) throws(PlatformError) -> ProgramGroup,
    admit: @escaping (Int32, UInt64, ProgramGroup) throws(PlatformError) -> Void,
    watch: @escaping (ProgramGroup, @escaping () -> Void) -> Void, remove: @escaping (ProgramGroup) -> Void,
    release: @escaping (ProgramGroup) -> Void,
    follow: @escaping ([ProgramGroup], @escaping Follower) -> Void = { _, _ in },
    left: @escaping (ProgramGroup) -> Int32? = { _ in nil },
    save: @escaping ([ProgramGroup]) -> Void,
    usage: @escaping (ProgramGroup) -> ProgramUsage? = { _ in nil }
  ) {
    self.namespace = namespace
    self.found = found
    self.path = path
    self.make = make
    self.admit = admit
    self.watch = watch
    self.remove = remove
    self.release = release
    self.follow = follow
    self.left = left
    self.save = save
    self.usage = usage
  }

  /// There are no programs, and none can be started.
  package static var unsupported: ProgramPlatform {
    ProgramPlatform(
      namespace: 0, found: { [] }, path: { _, _ in nil },
      make: { _ throws(PlatformError) in throw PlatformError("this platform has no control groups") },
      admit: { _, _, _ throws(PlatformError) in throw PlatformError("this platform has no control groups") }, watch: { _, _ in },
      remove: { _ in }, release: { _ in }, save: { _ in })
  }
}
