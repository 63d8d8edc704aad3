internal import Glibc
package import LinuxIO
package import SystemdIO

/// A helper process whose only connection is a channel. It has an empty environment, `/dev/null` as standard input, output and error, no
/// other descriptor, and its own process group.
///
/// It drops its privileges by itself (`Confinement`). It ends with this value, and with the program that started it, even if that crashes,
/// because the channel closes.
package final class ConfinedProcess {
  package let process: Int32
  package let channel: MessageChannel
  private let loop: EventLoop
  private var isRunning = true

  /// Starts `program`, which is searched on PATH unless it contains a slash, with these arguments (its own name first).
  package init(_ program: String, _ arguments: [String], on loop: EventLoop) throws(SystemError) {
    let (ours, theirs) = try MessageChannel.pair()
    process = try SpawnedProgram(
      program, arguments, environment: [], descriptors: [.nothing, .nothing, .nothing, .open(theirs)], company: .group
    ).start()
    channel = ours
    self.loop = loop
  }

  deinit { end() }

  /// Kills it now. Returns its exit code, or 128 and the signal's number. `nil` if it was ended before, or must not be killed: without
  /// CAP_KILL, a process of another user ends only because the channel closes.
  @discardableResult
  package func end() -> Int32? {
    guard isRunning else { return nil }
    isRunning = false
    guard kill(process, SIGKILL) == 0 else {
      reapLater()
      return nil
    }
    var status: Int32 = 0
    guard waitpid(process, &status, 0) == process else { return nil }
    return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + (status & 0x7f)
  }

  private func reapLater() {
    final class Wait { var source: EventSource? }
    let wait = Wait()
    wait.source = try? loop.onExit(of: process) { _ in wait.source = nil }
  }
}
