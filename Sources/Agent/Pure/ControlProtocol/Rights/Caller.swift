/// The client of a request, as the kernel or the bus identifies it.
package struct Caller: Equatable, Sendable {
  /// The caller in polkit's terms: a number alone may be another process's by the time that polkit reads it.
  package enum Subject: Hashable, Sendable {
    /// `startTime`: field 22 of /proc/PID/stat, in clock ticks since the boot.
    case process(Int32, startTime: UInt64)
    /// The unique name of a connection to the system bus.
    case busName(String)
  }

  package var user: UInt32
  /// The number of its process; 0: not known.
  package var process: Int32
  /// Whether the user is root or the agent's own.
  package var isOwner: Bool
  /// Whether the process is in the group `roamward`.
  package var isMember: Bool
  /// `nil`: the process has ended, or is not visible to the agent.
  package var subject: Subject?

  package init(user: UInt32, process: Int32 = 0, isOwner: Bool = false, isMember: Bool = false, subject: Subject? = nil) {
    self.user = user
    self.process = process
    self.isOwner = isOwner
    self.isMember = isMember
    self.subject = subject
  }

  /// The group that decides where polkit does not run (packaging/sysusers.d).
  package static let groupName = "roamward"

  /// Whether the caller may read what other users do: names that they look up, and logs of providers.
  package var readsOthers: Bool { isOwner || isMember }
}
