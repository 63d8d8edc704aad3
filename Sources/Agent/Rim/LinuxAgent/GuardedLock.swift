internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// The lock of the network namespace, whose socket every user can connect to: connections are closed, at most ten times a second.
final class GuardedLock {
  private let lock: NamespaceLock
  private var source: EventSource?
  private var rest: EventSource?

  init(_ lock: NamespaceLock) { self.lock = lock }

  func watch(on loop: EventLoop) throws(SystemError) {
    let source = try loop.whenReadable(lock.descriptor) { [weak self] in
      guard let self else { return }
      lock.drain()
      self.source?.isEnabled = false
      rest = try? loop.at(.now + .milliseconds(100)) { [weak self] in self?.source?.isEnabled = true }
    }
    source.setPriority(.client)
    self.source = source
  }
}
