internal import Glibc
internal import LinuxIO

/// Threads that hash passwords, and a bounded queue of work for them: two at once use 128 MiB.
// Sound: the queue and what is finished are used under the mutex alone; everything else never changes.
final class HashWorkers: @unchecked Sendable {
  static let threads = 2
  static let queueLimit = 64

  /// The work of a thread: it returns the function that the loop's thread then calls.
  typealias Job = @Sendable () -> @Sendable (AuthWork) -> Void

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  // Under the mutex.
  private var queue: [(number: UInt32, job: Job)] = []
  private var finished: [@Sendable (AuthWork) -> Void] = []

  /// Readable when something is finished.
  let event: FileDescriptor
  private let signal: FileDescriptor

  /// Starts the threads. After privileges are given up, which each thread does for itself, and before the filter of system calls.
  init() throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    // The process starts no program that could inherit it.
    guard pipe(&ends) == 0 else { throw .last("make a pipe") }
    for end in ends { _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) }
    (event, signal) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
    for _ in 0..<Self.threads {
      var thread = pthread_t()
      let context = Unmanaged.passRetained(self)
      let result = pthread_create(
        &thread, nil,
        { context in
          if let context { Unmanaged<HashWorkers>.fromOpaque(context).takeUnretainedValue().work() }
          return nil
        }, context.toOpaque())
      guard result == 0 else { throw SystemError(code: result, operation: "start a thread") }
    }
  }

  /// Whether a job would be taken now.
  var hasRoom: Bool { waiting < Self.queueLimit }

  /// The jobs that no thread has begun.
  var waiting: Int {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return queue.count
  }

  /// Adds a job for a client; `false` if too many wait.
  func add(for number: UInt32, _ job: @escaping Job) -> Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    guard queue.count < Self.queueLimit else { return false }
    queue.append((number, job))
    pthread_cond_signal(condition)
    return true
  }

  /// Forgets what waits for a client that has gone: after a flood others would wait for it.
  func cancel(_ number: UInt32) {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    queue.removeAll { $0.number == number }
  }

  /// The results of jobs that were finished since the last call.
  func takeFinished() -> [@Sendable (AuthWork) -> Void] {
    _ = try? event.read(atMost: 1024)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    let all = finished
    finished = []
    return all
  }

  /// Below the other programs: a hash takes a processor for the time of thousands of packets, and a login may wait for that.
  private static let niceness: Int32 = 5

  private func work() {
    // Of this thread alone (nice(2)).
    setpriority(__priority_which_t(UInt32(PRIO_PROCESS.rawValue)), 0, Self.niceness)
    while true {
      pthread_mutex_lock(mutex)
      while queue.isEmpty { pthread_cond_wait(condition, mutex) }
      let job = queue.removeFirst().job
      pthread_mutex_unlock(mutex)
      let result = job()
      pthread_mutex_lock(mutex)
      finished.append(result)
      pthread_mutex_unlock(mutex)
      // A full pipe is readable already.
      var one: UInt8 = 1
      _ = write(signal.number, &one, 1)
    }
  }
}
