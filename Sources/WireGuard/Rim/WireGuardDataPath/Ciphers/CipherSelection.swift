internal import Glibc
internal import LinuxIO
internal import Synchronization

/// Chooses the library for transport messages on a thread of its own, while the interface works with libsodium already: the test and the
/// measurement take longer than a handshake.
final class CipherSelection: Sendable {
  /// The start of a tunnel comes first: on one processor the two would share it.
  private static let delay = Duration.milliseconds(250)

  private let loaded: LoadedCiphers
  private let choice = Mutex(CipherChoice.initial)

  /// `loaded` before the process is confined.
  init(_ loaded: LoadedCiphers) { self.loaded = loaded }

  /// The choice so far.
  var current: CipherChoice { choice.withLock { $0 } }

  /// Whether it uses a thread.
  var needsThread: Bool { !loaded.isEmpty }

  static let threadName = "cipher"

  /// Starts the thread, which ends by itself. Call it before the process is confined: that forbids new threads.
  func start(on ready: ReadyThreads) throws(SystemError) {
    report(loaded.rejections)
    if needsThread { pthread_detach(try ready.begin(Self.threadName) { self.choose() }) }
  }

  private func choose() {
    var delay = timespec(tv_sec: 0, tv_nsec: Int(Self.delay / .nanoseconds(1)))
    clock_nanosleep(CLOCK_MONOTONIC, 0, &delay, nil)
    let chosen = loaded.choose()
    choice.withLock { $0 = chosen }
    report(chosen.rejections.filter { !loaded.rejections.contains($0) })
  }

  /// Standard error is the journal, and stays open.
  private func report(_ rejections: [LoadedCiphers.Rejection]) {
    for rejection in rejections where rejection.isUnexpected {
      let line = "roamward-wireguard: packets are encrypted by libsodium, not by \(rejection.library.rawValue): \(rejection.reason)\n"
      _ = line.utf8CString.withUnsafeBytes { write(2, $0.baseAddress, $0.count - 1) }
    }
  }
}
