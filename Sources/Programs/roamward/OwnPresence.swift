import LinuxIO
import NetworkTypes
import Terminal

/// The file by which `roamward guard` tells an end that is wanted from all others: if it is still there when this process has ended, the
/// kill switch stays closed.
struct OwnPresence {
  let path: String

  func begin() {
    do throws(SystemError) {
      try TextFile.create(path, with: [], mode: 0o600)
    } catch {
      writeError("roamward: cannot \(error); if `roamward guard` is killed, the kill switch opens\n")
    }
  }

  func end() { try? TextFile.remove(path) }
}
