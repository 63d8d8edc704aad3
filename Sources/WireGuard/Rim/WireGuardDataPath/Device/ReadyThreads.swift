internal import CWireGuardIO
internal import Glibc
internal import LinuxIO

/// Threads that have started and wait for their work. A process that waits for an interface starts them in advance: that takes a third of a
/// millisecond, and is forbidden once it is confined. A thread that is not waiting yet is started when it is asked for.
final class ReadyThreads {
  /// The work that a thread waits for. The thread and this value's owner share it.
  // Sound: `body` is set before the semaphore is raised, and read after that.
  private final class Place: @unchecked Sendable {
    let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    /// `nil`: the thread is to end.
    var body: (() -> Void)?

    init() { sem_init(semaphore, 0, 0) }

    deinit {
      sem_destroy(semaphore)
      semaphore.deallocate()
    }
  }

  private var waiting: [String: (thread: pthread_t, place: Place)] = [:]

  /// Nothing waits: each thread is started when it is asked for.
  init() {}

  /// Starts a thread for each of these names, of 15 bytes at most.
  init(_ names: [String]) throws(SystemError) {
    for name in names {
      let place = Place()
      waiting[name] = (try Self.start(name, place), place)
    }
  }

  /// Those that nothing was given to end.
  deinit {
    for (thread, place) in waiting.values {
      sem_post(place.semaphore)
      pthread_join(thread, nil)
    }
  }

  /// Runs the body in the thread of this name.
  func begin(_ name: String, _ body: @escaping () -> Void) throws(SystemError) -> pthread_t {
    let place: Place
    let thread: pthread_t
    if let ready = waiting.removeValue(forKey: name) {
      (thread, place) = ready
    } else {
      place = Place()
      thread = try Self.start(name, place)
    }
    place.body = body
    sem_post(place.semaphore)
    return thread
  }

  private static func start(_ name: String, _ place: Place) throws(SystemError) -> pthread_t {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(place)
    let result = pthread_create(
      &thread, nil,
      { context in
        _ = cwg_take_short_turns(DataPath.turn)
        if let context {
          let place = Unmanaged<Place>.fromOpaque(context).takeRetainedValue()
          while sem_wait(place.semaphore) != 0 {}
          let body = place.body
          place.body = nil
          body?()
        }
        return nil
      }, context.toOpaque())
    guard result == 0 else {
      context.release()
      throw SystemError(code: result, operation: "start the thread \(name)")
    }
    cwg_name_thread(thread, name)
    return thread
  }
}
