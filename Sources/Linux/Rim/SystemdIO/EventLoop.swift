internal import CLinux
internal import CSystemd
internal import Glibc
package import LinuxIO
package import NetworkTypes

/// The agent's only thread of control, over sd-event(3): descriptors, timers, signals, children and watched folders.
///
/// All callbacks run on the loop's thread, one at a time, so its objects need no lock. Nothing on it may block. When idle it sleeps in the
/// kernel without a timer.
package final class EventLoop {
  let event: OpaquePointer

  package init() throws(SystemError) {
    var event: OpaquePointer?
    let result = sd_event_new(&event)
    guard result >= 0, let event else { throw SystemError(code: -result, operation: "sd_event_new") }
    self.event = event
    // Otherwise a child's end could not arrive as an event.
    block(SIGCHLD)
  }

  deinit { sd_event_unref(event) }

  /// Runs until `stop`; returns the code given there.
  package func run() throws(SystemError) -> Int32 {
    let result = sd_event_loop(event)
    if result < 0 { throw SystemError(code: -result, operation: "sd_event_loop") }
    return result
  }

  /// Makes `run` return after the current callback.
  package func stop(code: Int32 = 0) { sd_event_exit(event, code) }

  /// Notifies the service manager's watchdog if the unit enables one.
  package func enableWatchdog() { sd_event_set_watchdog(event, 1) }

  /// Calls back while the descriptor is readable.
  package func whenReadable(_ descriptor: Int32, _ handler: @escaping () -> Void) throws(SystemError) -> EventSource {
    try whenReady(descriptor, events: UInt32(EPOLLIN.rawValue)) { _ in handler() }
  }

  /// Calls back while the descriptor is writable.
  package func whenWritable(_ descriptor: Int32, _ handler: @escaping () -> Void) throws(SystemError) -> EventSource {
    try whenReady(descriptor, events: UInt32(EPOLLOUT.rawValue)) { _ in handler() }
  }

  /// Calls back with the `EPOLL*` bits that are set.
  ///
  /// The source watches its own duplicate, so the open file lasts as long as the source, and either may be closed first. Otherwise epoll(7)
  /// would keep watching a closed number while a starting child shares the open file, and report it to a released source.
  package func whenReady(_ descriptor: Int32, events: UInt32, _ handler: @escaping (UInt32) -> Void) throws(SystemError) -> EventSource {
    let source = EventSource { if case .descriptor(let bits) = $0 { handler(bits) } }
    let duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard duplicate >= 0 else { throw .last("watch a descriptor") }
    source.watched = FileDescriptor(owning: duplicate)
    try source.attach("watch a descriptor") { slot, context in
      sd_event_add_io(event, slot, duplicate, events, { _, _, bits, context in EventSource.fire(context, .descriptor(bits)) }, context)
    }
    return source
  }

  /// Calls back once for each turn of the loop without pending work of a higher priority, while `isEnabled`. It is disabled at first.
  package func eachTurn(_ handler: @escaping () -> Void) throws(SystemError) -> EventSource {
    let source = EventSource { _ in handler() }
    try source.attach("add a turn of the loop") { slot, context in
      sd_event_add_defer(event, slot, { _, context in EventSource.fire(context, .turn) }, context)
    }
    source.isEnabled = false
    return source
  }

  /// Calls back once, no earlier than `deadline` and up to 1 ms after it; for a deadline within 16 ms, sooner. Suspended time counts.
  package func at(_ deadline: Moment, _ handler: @escaping () -> Void) throws(SystemError) -> EventSource {
    let source = EventSource { _ in handler() }
    let microseconds = deadline.nanoseconds / 1000
    // sd-event waits as long as this allows, unless another timer comes first.
    let accuracy = min(1000, max(1, (deadline - .now) / .microseconds(16)))
    try source.attach("set a timer") { slot, context in
      sd_event_add_time(
        event, slot, CLOCK_BOOTTIME, microseconds, UInt64(accuracy), { _, _, context in EventSource.fire(context, .timer) }, context)
    }
    return source
  }

  /// Calls back for each arrival of a signal; from then on it has no other effect on the calling thread.
  package func onSignal(_ number: Int32, _ handler: @escaping () -> Void) throws(SystemError) -> EventSource {
    block(number)
    let source = EventSource { _ in handler() }
    try source.attach("watch a signal") { slot, context in
      sd_event_add_signal(event, slot, number, { _, _, context in EventSource.fire(context, .signal) }, context)
    }
    return source
  }

  /// Calls back once with the child's exit code; 128 plus the number for a signal.
  package func onExit(of child: Int32, _ handler: @escaping (Int32) -> Void) throws(SystemError) -> EventSource {
    let source = EventSource { if case .child(let code) = $0 { handler(code) } }
    try source.attach("watch a child") { slot, context in
      sd_event_add_child(
        event, slot, child, WEXITED,
        { _, info, context in
          guard let info else { return 0 }
          let status = info.pointee._sifields._sigchld.si_status
          return EventSource.fire(context, .child(clinux_exit_code(info.pointee.si_code, status)))
        }, context)
    }
    return source
  }

  /// Calls back with the changed name (empty for the watched object itself) and the `IN_*` bits of inotify(7).
  package func onChange(in path: String, mask: UInt32, _ handler: @escaping (String, UInt32) -> Void) throws(SystemError) -> EventSource {
    let source = EventSource { if case .file(let name, let bits) = $0 { handler(name, bits) } }
    try source.attach("watch \(path)") { slot, context in
      sd_event_add_inotify(
        event, slot, path, mask,
        { _, change, context in
          guard let change else { return 0 }
          let length = Int(change.pointee.len)
          let name =
            length == 0
            ? ""
            : UnsafeRawPointer(change).advanced(by: MemoryLayout<inotify_event>.size)
              .withMemoryRebound(to: CChar.self, capacity: length) { String(cString: $0) }
          return EventSource.fire(context, .file(name, change.pointee.mask))
        }, context)
    }
    return source
  }
}

/// Blocks a signal: signalfd(2) delivers it as an event only if its normal delivery is off.
private func block(_ signal: Int32) {
  var mask = sigset_t()
  sigemptyset(&mask)
  sigaddset(&mask, signal)
  pthread_sigmask(SIG_BLOCK, &mask, nil)
}

/// A registration with the loop: it lasts exactly as long as the value is retained, even if its own callback releases it. Its end does not
/// affect a later descriptor of the same number.
package final class EventSource {
  enum Occurrence {
    case descriptor(UInt32), timer, turn, signal, child(Int32), file(String, UInt32)
  }

  /// The object that the loop retains during a callback; the source itself may be released meanwhile.
  private final class Callback {
    let handler: (Occurrence) -> Void
    init(_ handler: @escaping (Occurrence) -> Void) { self.handler = handler }
  }

  private var source: OpaquePointer?
  private let callback: Callback
  /// The watched file, open until the registration has ended.
  fileprivate var watched: FileDescriptor?

  init(handler: @escaping (Occurrence) -> Void) { callback = Callback(handler) }

  deinit { cancel() }

  /// Ends the registration now, as does releasing the value.
  package func cancel() {
    // With a pending child, dropping the reference alone would keep the registration.
    if let source { sd_event_source_disable_unref(source) }
    source = nil
    watched = nil
  }

  /// The order of sources that are pending at the same time: `normal` comes first (sd_event_source_set_priority(3)).
  package enum Priority: Int64 {
    /// The kernel's events, timers, signals, children and files.
    case normal = 0
    /// Connections of the local socket: whether there is something to read or room to write.
    case client = 50
    /// Answers to requests of the local socket.
    case request = 60
  }

  package func setPriority(_ priority: Priority) {
    if let source { sd_event_source_set_priority(source, priority.rawValue) }
  }

  /// Changes the `EPOLL*` bits of a descriptor's source. EPOLLHUP and EPOLLERR are reported even for 0.
  package func setEvents(_ events: UInt32) {
    if let source { sd_event_source_set_io_events(source, events) }
  }

  package var isEnabled = true {
    didSet { if let source { sd_event_source_set_enabled(source, isEnabled ? 1 : 0) } }
  }

  func attach(
    _ operation: String, _ add: (UnsafeMutablePointer<OpaquePointer?>, UnsafeMutableRawPointer) -> Int32
  ) throws(SystemError) {
    let result = add(&source, Unmanaged.passUnretained(callback).toOpaque())
    if result < 0 { throw SystemError(code: -result, operation: operation) }
  }

  static func fire(_ context: UnsafeMutableRawPointer?, _ occurrence: Occurrence) -> Int32 {
    guard let context else { return 0 }
    let callback = Unmanaged<Callback>.fromOpaque(context).takeUnretainedValue()
    withExtendedLifetime(callback) { callback.handler(occurrence) }
    return 0
  }
}
