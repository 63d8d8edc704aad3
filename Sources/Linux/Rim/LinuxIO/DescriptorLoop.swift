internal import CLinux
internal import Glibc
package import NetworkTypes

/// A loop over epoll(7) for descriptors, deadlines, signals and the ends of children. It needs only the kernel.
///
/// For processes with a minimum of libraries; the agent has `EventLoop`. All callbacks run on the loop's thread, one at a time. When idle
/// it sleeps in the kernel without a timer.
package final class DescriptorLoop {
  private static let timerIdentity: UInt64 = 0
  private static let batch: Int32 = 16

  fileprivate let poller: FileDescriptor
  /// On CLOCK_BOOTTIME, armed for the first deadline.
  private let timer: FileDescriptor
  private var nextIdentity = timerIdentity + 1
  private var callbacks: [UInt64: (UInt32) -> Void] = [:]
  /// The source that watches each descriptor. It distinguishes a source whose descriptor was closed from a later one with the same number.
  private var watchers: [Int32: UInt64] = [:]
  /// Few entries: searched, not sorted.
  private var deadlines: [(at: Moment, identity: UInt64)] = []
  private var code: Int32?

  package init() throws(SystemError) {
    let poller = clinux_poller()
    guard poller >= 0 else { throw .last("epoll_create1") }
    self.poller = FileDescriptor(owning: poller)
    let timer = clinux_timer()
    guard timer >= 0 else { throw .last("timerfd_create") }
    self.timer = FileDescriptor(owning: timer)
    guard clinux_poller_add(poller, timer, clinux_readable, Self.timerIdentity) == 0 else { throw .last("watch a timer") }
  }

  /// Runs until `stop`; returns the code given there.
  package func run() throws(SystemError) -> Int32 {
    var ready = [clinux_ready](repeating: clinux_ready(), count: Int(Self.batch))
    while true {
      if let code { return code }
      let count = clinux_poller_wait(poller.number, &ready, Self.batch)
      guard count >= 0 || errno == EINTR else { throw .last("epoll_wait") }
      for one in ready.prefix(Int(max(0, count))) {
        if one.identity == Self.timerIdentity { callDue() } else { callbacks[one.identity]?(one.events) }
        if let code { return code }
      }
    }
  }

  /// Makes `run` return after the current callback.
  package func stop(code: Int32 = 0) { self.code = self.code ?? code }

  /// Calls back while the descriptor is readable.
  package func whenReadable(_ descriptor: Int32, _ handler: @escaping () -> Void) throws(SystemError) -> Source {
    try whenReady(descriptor, events: clinux_readable) { _ in handler() }
  }

  /// Calls back while the descriptor is writable.
  package func whenWritable(_ descriptor: Int32, _ handler: @escaping () -> Void) throws(SystemError) -> Source {
    try whenReady(descriptor, events: clinux_writable) { _ in handler() }
  }

  /// Calls back with the `EPOLL*` bits that are set; EPOLLHUP and EPOLLERR are reported even for 0. A descriptor can have one source at a
  /// time (EEXIST): release it before watching other events.
  package func whenReady(_ descriptor: Int32, events: UInt32, _ handler: @escaping (UInt32) -> Void) throws(SystemError) -> Source {
    let identity = newIdentity()
    guard clinux_poller_add(poller.number, descriptor, events, identity) == 0 else { throw .last("watch a descriptor") }
    callbacks[identity] = handler
    watchers[descriptor] = identity
    return Source(identity, of: self, descriptor: descriptor)
  }

  /// Calls back once, no earlier than `deadline`. Suspended time counts.
  package func at(_ deadline: Moment, _ handler: @escaping () -> Void) throws(SystemError) -> Source {
    let identity = newIdentity()
    deadlines.append((deadline, identity))
    callbacks[identity] = { _ in handler() }
    arm()
    return Source(identity, of: self)
  }

  /// Calls back for each arrival of a signal; from then on it has no other effect on the calling thread.
  package func onSignal(_ number: Int32, _ handler: @escaping () -> Void) throws(SystemError) -> Source {
    let descriptor = clinux_signal_reader(number)
    guard descriptor >= 0 else { throw .last("watch a signal") }
    let file = FileDescriptor(owning: descriptor)
    let source = try whenReadable(descriptor) {
      // Each one that is read was sent at least once.
      while let read = try? file.read(atMost: Int(clinux_signal_size)), !read.isEmpty { handler() }
    }
    source.file = file
    return source
  }

  /// Calls back once with the child's exit code, 128 plus the number for a signal, and reaps it (pidfd_open(2), Linux 5.3).
  package func onExit(of child: Int32, _ handler: @escaping (Int32) -> Void) throws(SystemError) -> Source {
    let descriptor = clinux_process(child)
    guard descriptor >= 0 else { throw .last("watch a child") }
    let file = FileDescriptor(owning: descriptor)
    var isThere = true
    let source = try whenReadable(descriptor) {
      let code = isThere ? clinux_reap(child) : -1
      guard code >= 0 else { return }
      isThere = false
      handler(code)
    }
    source.file = file
    return source
  }

  private func newIdentity() -> UInt64 {
    defer { nextIdentity += 1 }
    return nextIdentity
  }

  private func callDue() {
    // Disarmed, it is not readable for deadlines that are handled now.
    clinux_timer_set(timer.number, 0)
    let now = Moment.now
    let due = deadlines.filter { $0.at <= now }.sorted { $0.at < $1.at }
    deadlines.removeAll { $0.at <= now }
    arm()
    for one in due {
      callbacks[one.identity]?(0)
      if code != nil { return }
    }
  }

  private func arm() {
    // 0 would disarm it.
    clinux_timer_set(timer.number, deadlines.map { max(1, $0.at.nanoseconds) }.min() ?? 0)
  }

  fileprivate func remove(_ identity: UInt64, descriptor: Int32?) {
    callbacks[identity] = nil
    guard let descriptor else {
      let count = deadlines.count
      deadlines.removeAll { $0.identity == identity }
      if deadlines.count < count { arm() }
      return
    }
    guard watchers[descriptor] == identity else { return }
    watchers[descriptor] = nil
    clinux_poller_remove(poller.number, descriptor)
  }

  /// A registration with the loop: it lasts exactly as long as the value is retained, even if its own callback releases it.
  package final class Source {
    private weak var loop: DescriptorLoop?
    private let identity: UInt64
    private let descriptor: Int32?
    /// The watched file, if the source opened it.
    fileprivate var file: FileDescriptor?

    fileprivate init(_ identity: UInt64, of loop: DescriptorLoop, descriptor: Int32? = nil) {
      self.identity = identity
      self.loop = loop
      self.descriptor = descriptor
    }

    deinit { cancel() }

    /// Ends the registration now, as does releasing the value.
    package func cancel() {
      loop?.remove(identity, descriptor: descriptor)
      loop = nil
    }
  }
}
