internal import Glibc
package import LinuxIO
package import SystemdIO

/// A worker process of the program, connected only by a channel: an empty environment, `/dev/null` as standard input, output and error, no
/// other descriptor, its own process group.
///
/// It gives up its privileges by itself (`ConfinedWorker`). It ends when this value is released, and when the program that started it ends,
/// however that happens: the channel closes.
package final class ConfinedProcess {
  package let process: Int32
  package let channel: MessageChannel
  private let loop: EventLoop?
  private var isRunning = true

  /// Starts a program of ours for its work. `path`: searched on PATH unless it contains a slash; `nil`: where our programs are. `loop`:
  /// reaps a process that may not be killed; `nil`: that stays until this program ends.
  package init(_ program: String, at path: String? = nil, on loop: EventLoop?) throws(SystemError) {
    let (ours, theirs) = try MessageChannel.pair()
    process = try SpawnedProgram(
      path ?? ownProgram(program), [program, "--at-work"], environment: [],
      descriptors: [.nothing, .nothing, .nothing, .open(theirs)], company: .group
    ).start()
    channel = ours
    self.loop = loop
  }

  deinit { end() }

  /// Kills it. Returns its exit code, or 128 plus the signal's number. `nil` if it was ended before, or may not be killed: it then ends by
  /// the closing of the channel.
  @discardableResult
  package func end() -> Int32? {
    guard isRunning else { return nil }
    isRunning = false
    guard Privileges.signal(process, SIGKILL) else {
      reapLater()
      return nil
    }
    var status: Int32 = 0
    while waitpid(process, &status, 0) != process { guard errno == EINTR else { return nil } }
    return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + (status & 0x7f)
  }

  private func reapLater() {
    final class Wait { var source: EventSource? }
    let wait = Wait()
    wait.source = try? loop?.onExit(of: process) { _ in wait.source = nil }
  }
}
