internal import CWireGuardIO
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import Synchronization
internal import WireGuardEngine

/// The distribution of the queues of one direction, of the TUN device or of the UDP port, to threads. At first, one thread serves all
/// queues; as it becomes busy, others take over. Which queue a flow is in does not depend on that.
///
/// A queue changes hands in its old thread, after that thread has passed on all packets that it took from it. So flows keep their order. A
/// thread without queues sleeps in the kernel, and has no buffers.
final class Duties: Sendable {
  /// Identities of events. Lower ones are queues, times two, and one more for the second descriptor.
  static let stops = UInt32.max
  static let changes = UInt32.max - 1

  private struct State: Sendable {
    /// Queue `i` belongs to thread `i & (active - 1)`.
    var active = 1
    /// The threads that serve the queues now.
    var holders: [Int]
    /// The descriptors of each queue.
    var descriptors: [[Int32]]
  }

  let count: Int
  /// Of each thread.
  let pollers: [Int32]
  /// Raised for a thread that has to hand over a queue.
  private let events: [Int32]
  private let state: Guarded<State>
  private let hasAll = Atomic<Bool>(false)
  /// The number of changes. A busy thread compares it, because it does not wait for events.
  private let changeCount = Atomic<Int>(0)

  init(_ count: Int, stopping: Int32) throws(SystemError) {
    self.count = count
    pollers = (0..<count).map { _ in cwg_poller() }
    events = (0..<count).map { _ in cwg_event() }
    state = Guarded(State(holders: Array(repeating: 0, count: count), descriptors: Array(repeating: [], count: count)))
    hasAll.store(count == 1, ordering: .relaxed)
    for (poller, event) in zip(pollers, events) {
      guard poller >= 0, event >= 0, cwg_poller_add(poller, stopping, Self.stops) == 0, cwg_poller_add(poller, event, Self.changes) == 0
      else { throw .last("watch the queues") }
    }
  }

  deinit {
    for number in pollers + events { close(number) }
  }

  static func identity(_ queue: Int, _ place: Int) -> UInt32 { UInt32(truncatingIfNeeded: 2 * queue + place) }

  /// Replaces a descriptor of a queue, or adds it, and has it watched by the queue's thread. `replace` puts another file in its place.
  func watch(_ descriptor: Int32, _ place: Int, of queue: Int, isNew: Bool, _ replace: () -> Bool) -> Bool {
    state.withLock { state in
      if !state.descriptors[queue].contains(descriptor) { state.descriptors[queue].append(descriptor) }
      // The poller removes an old file with its last descriptor.
      guard replace() else { return false }
      return !isNew || cwg_poller_add(pollers[state.holders[queue]], descriptor, Self.identity(queue, place)) == 0
    }
  }

  /// The queues that a thread serves.
  func queues(of thread: Int) -> [Int] {
    state.withLock { state in state.holders.indices.filter { state.holders[$0] == thread } }
  }

  var generation: Int { changeCount.load(ordering: .relaxed) }

  /// True if more threads can share the work.
  var canGrow: Bool { !hasAll.load(ordering: .relaxed) }

  /// Doubles the number of working threads.
  func grow() {
    state.withLock { state in
      guard state.active < count else { return }
      state.active *= 2
      if state.active >= count { hasAll.store(true, ordering: .relaxed) }
      changeCount.add(1, ordering: .relaxed)
      for event in events { cwg_event_raise(event) }
    }
  }

  /// Waits in a thread without traffic. True: a queue is readable; `nil`: the path stops.
  func wait(in thread: Int) -> Bool? {
    var identities: [UInt32] = [0, 0, 0, 0]
    let count = cwg_poller_wait(pollers[thread], &identities, 4, -1)
    let events = identities.prefix(max(0, Int(count)))
    if events.contains(Self.stops) { return nil }
    if events.contains(Self.changes) { handOver(by: thread) }
    return events.contains { $0 < Self.changes } && !queues(of: thread).isEmpty
  }

  /// Hands over the queues that belong to other threads now. Call it in their thread, when it has passed on all that it took from them.
  func handOver(by thread: Int) {
    cwg_event_clear(events[thread])
    state.withLock { state in
      for queue in 0..<count where state.holders[queue] == thread {
        let new = queue & (state.active - 1)
        guard new != thread else { continue }
        state.holders[queue] = new
        for (place, descriptor) in state.descriptors[queue].enumerated() {
          guard cwg_poller_remove(pollers[thread], descriptor) == 0 else { continue }
          _ = cwg_poller_add(pollers[new], descriptor, Self.identity(queue, place))
        }
        // It also learns which queues it has.
        cwg_event_raise(events[new])
      }
    }
  }
}

/// A meter of a thread's load, in windows of 50 ms.
struct LoadMeter {
  private static let window: UInt64 = 50_000_000

  private var start: UInt64
  private var waited: UInt64 = 0

  init(at now: Moment) { start = now.nanoseconds }

  mutating func record(waited nanoseconds: UInt64) { waited &+= nanoseconds }

  /// True at the end of a window in which the thread has worked for more than four fifths of the time.
  mutating func isHigh(at now: Moment) -> Bool {
    let length = now.nanoseconds &- start
    guard length >= Self.window else { return false }
    defer {
      start = now.nanoseconds
      waited = 0
    }
    return waited &* 5 < length
  }
}
