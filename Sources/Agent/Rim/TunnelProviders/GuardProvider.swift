internal import Glibc
package import LinuxIO
internal import NetworkTypes
package import ProviderGroups
package import SystemdIO

/// The processes of guards: their admission to a control group, their end.
package final class GuardProvider {
  /// After SIGTERM, and after SIGKILL: a process that waits for a device outlasts both, and one that gets no processor the first second.
  private static let patience = (term: Duration.seconds(2), kill: Duration.seconds(10))
  private static let interval = Duration.milliseconds(5)
  /// Between two looks at a group that has outlasted them.
  private static let lateInterval = Duration.seconds(1)

  private let loop: EventLoop
  private let groups: ProviderGroups
  private var watches: [Int32: EventSource] = [:]
  private var ends: [Int32: End] = [:]
  private var claims: [Int32: ProcessDescriptor] = [:]

  private struct End {
    var source: EventSource?
    var done: [(Bool) -> Void]
    /// Whether it has been called back that something is left.
    var isLate = false
  }

  package init(on loop: EventLoop, groups: ProviderGroups) {
    self.loop = loop
    self.groups = groups
  }

  /// Holds on to a process until it is admitted, or has ended.
  package func claim(_ process: Int32) throws(SystemError) {
    // Callers whose request was refused.
    claims = claims.filter { !$0.value.hasEnded }
    claims[process] = try ProcessDescriptor(process)
  }

  /// Moves a claimed process into the group of its guard. It has its number as long as it has not ended.
  package func admit(_ process: Int32) throws(SystemError) {
    let gone = SystemError(code: ESRCH, operation: "find process \(process)")
    guard let claim = claims.removeValue(forKey: process), !claim.hasEnded else { throw gone }
    guard let group = groups.existingGuard(of: process) else { throw SystemError(code: ENOENT, operation: "open the control group") }
    try group.admit(process)
    if claim.hasEnded { throw gone }
  }

  /// Calls back once when a process of a guard's group has ended; soon if it is not in the group.
  package func watch(_ process: Int32, _ ended: @escaping () -> Void) {
    let isThere = groups.existingGuard(of: process)?.processes.contains(process) ?? false
    let gone = { [weak self] in
      self?.watches[process] = nil
      ended()
    }
    if isThere, let program = try? ProcessDescriptor(process) {
      watches[process] = try? loop.whenReadable(program.descriptor.number, gone)
    } else {
      watches[process] = try? loop.at(.now, gone)
    }
  }

  /// Ends everything in the guard's group, and removes it. Calls back with whether nothing is left, never during this call; if something
  /// is, once more when that has ended.
  package func end(_ process: Int32, then done: @escaping (Bool) -> Void) {
    if ends[process] != nil {
      ends[process]?.done.append(done)
      return
    }
    watches[process] = nil
    claims[process] = nil
    ends[process] = End(source: nil, done: [done])
    groups.existingGuard(of: process)?.signal(SIGTERM)
    next(process, since: .now, after: .zero)
  }

  private func next(_ process: Int32, since begin: Moment, after pause: Duration) {
    ends[process]?.source = try? loop.at(.now + pause) { [weak self] in self?.look(process, since: begin) }
  }

  private func look(_ process: Int32, since begin: Moment) {
    let group = groups.existingGuard(of: process)
    if !(group?.isPopulated ?? false), groups.removeGuard(process) {
      for done in ends.removeValue(forKey: process)?.done ?? [] { done(true) }
      return
    }
    let age = Moment.now - begin
    if age > Self.patience.term { group?.kill() }
    guard age > Self.patience.term + Self.patience.kill else { return next(process, since: begin, after: Self.interval) }
    next(process, since: begin, after: Self.lateInterval)
    guard let end = ends[process], !end.isLate else { return }
    ends[process]?.isLate = true
    for done in end.done { done(false) }
  }
}
