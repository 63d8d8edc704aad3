internal import Glibc
internal import LinuxIO
internal import NetworkTypes

/// A lock of flock(2), which ends with the process that has it. It has a file of its own, which stays.
struct LockFile {
  private let path: String

  init(_ path: String) { self.path = path }

  /// Takes the lock; `nil` if another process has it.
  func take(patience: Duration) throws(SystemError) -> FileDescriptor? {
    let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw .last("open \(path)") }
    let file = FileDescriptor(owning: number)
    let deadline = Moment.now + patience
    while flock(number, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK else { throw .last("lock \(path)") }
      if Moment.now >= deadline { return nil }
      usleep(10_000)
    }
    return file
  }
}
