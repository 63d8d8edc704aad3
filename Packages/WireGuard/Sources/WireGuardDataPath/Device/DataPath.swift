internal import CWireGuardIO
internal import Glibc
package import LinuxIO
internal import NetworkTypes
internal import Synchronization
package import WireGuardControl
package import WireGuardEngine

/// The two threads that carry packets between a TUN device and UDP sockets, and the state that they share with the control thread.
///
/// Between packets the threads share only the engine's sections. Both threads sleep in the kernel while there is no traffic.
package final class DataPath: @unchecked Sendable {
  // Sound: all else is constants, atomics and locks. `staged` is used only inside the engine's sending section. `inboundPoller` is written
  // before the threads start. `threads` belongs to the control thread.
  package let engine: Engine
  package let tun: TunDevice
  package let offloads: Offloads
  let sockets: SocketNumbers
  let handshakes = HandshakeQueue()
  var staged = StagedPackets()
  var inboundPoller: Int32 = -1
  /// The target length of a thread's turn, in nanoseconds. A packet that arrives while other threads compute must not wait for their whole
  /// turns.
  static let turn: UInt32 = 100_000
  /// Becomes readable, permanently, when the threads are to end.
  let stopping: Int32
  /// Readable when there is work for the control thread.
  package let control: Int32
  private let innerMTU: Atomic<Int>
  private let gone = Atomic<Bool>(false)
  private let rests = Atomic<Bool>(false)
  private var threads: [pthread_t] = []

  /// Creates the path with the wanted offloads of the device and of the sockets. It has no sockets yet.
  package init(_ engine: Engine, _ tun: TunDevice, wanting wanted: Offloads) throws(SystemError) {
    self.engine = engine
    self.tun = tun
    var offloads = tun.offloads
    offloads.formUnion(wanted.intersection([.socketSegmentation, .socketJoining]))
    self.offloads = offloads
    innerMTU = Atomic(Int(max(0, cwg_get_mtu(tun.name))))
    stopping = cwg_event()
    control = cwg_event()
    // Until there are sockets, descriptors to which nothing can be sent.
    sockets = SocketNumbers(v4: cwg_event(), v6: cwg_event())
    guard stopping >= 0, control >= 0, sockets.v4 >= 0, sockets.v6 >= 0 else { throw .last("eventfd") }
  }

  deinit {
    for number in [stopping, control, sockets.v4, sockets.v6] { close(number) }
  }

  /// The MTU of the inner device; 0 if unknown.
  package var mtu: Int {
    get { innerMTU.load(ordering: .relaxed) }
    set { innerMTU.store(newValue, ordering: .relaxed) }
  }

  /// True if the TUN device has been deleted.
  package var isDeviceGone: Bool { gone.load(ordering: .acquiring) }

  /// Starts both threads.
  package func start() throws(SystemError) {
    let outbound = UnsafeMutablePointer<Outbound>.allocate(capacity: 1)
    outbound.initialize(to: try Outbound(self))
    let inbound = UnsafeMutablePointer<Inbound>.allocate(capacity: 1)
    inbound.initialize(to: try Inbound(self))
    try begin("tun to udp", outbound) { context in
      let path = context?.assumingMemoryBound(to: Outbound.self)
      _ = cwg_take_short_turns(DataPath.turn)
      path?.pointee.run()
      path?.deinitialize(count: 1)
      path?.deallocate()
      return nil
    }
    try begin("udp to tun", inbound) { context in
      let path = context?.assumingMemoryBound(to: Inbound.self)
      _ = cwg_take_short_turns(DataPath.turn)
      path?.pointee.run()
      path?.deinitialize(count: 1)
      path?.deallocate()
      return nil
    }
  }

  /// Yields the processor after each batch. A computing thread otherwise keeps it until the next tick, four milliseconds, even if its turns
  /// are short. With the yield, the other direction, or the other end on the same machine, waits for one batch only.
  @inline(__always)
  static func letOthersWork() { sched_yield() }

  private func begin(
    _ name: String, _ context: UnsafeMutableRawPointer,
    _ body: @escaping @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
  ) throws(SystemError) {
    var thread = pthread_t()
    let result = pthread_create(&thread, nil, body, context)
    guard result == 0 else { throw SystemError(code: result, operation: "start the thread \(name)") }
    cwg_name_thread(thread, name)
    threads.append(thread)
  }

  /// Stops both threads and waits for them.
  package func stop() {
    cwg_event_raise(stopping)
    for thread in threads { pthread_join(thread, nil) }
    threads = []
  }

  /// Replaces the current sockets by these. Call it after `start`, from the control thread.
  package func use(_ new: TunnelSockets) throws(SystemError) {
    try put(new.v4, in: sockets.v4, identity: 0)
    try put(new.v6, in: sockets.v6, identity: 1)
  }

  private func put(_ socket: FileDescriptor?, in place: Int32, identity: UInt32) throws(SystemError) {
    guard let socket else {
      // A family that is missing: again a descriptor to which nothing can be sent.
      let nothing = FileDescriptor(owning: cwg_event())
      guard cwg_replace(nothing.number, place) == 0 else { throw .last("put a socket away") }
      return
    }
    if offloads.contains(.socketJoining) { _ = cwg_udp_set_gro(socket.number, 1) }
    // The poller removes the old socket with its last descriptor.
    guard cwg_replace(socket.number, place) == 0, cwg_poller_add(inboundPoller, place, identity) == 0 else {
      throw .last("use a socket")
    }
  }

  /// The control thread has set a timer for its next turn and is not to be woken before. The order with `Engine.hasPending` is sequentially
  /// consistent. So either this thread sees the pending work, or the thread that left the work sees that it has to wake this one.
  package var controlRests: Bool {
    get { rests.load(ordering: .sequentiallyConsistent) }
    set { rests.store(newValue, ordering: .sequentiallyConsistent) }
  }

  func wakeControl() {
    if !controlRests { cwg_event_raise(control) }
  }

  func deviceIsGone() {
    gone.store(true, ordering: .releasing)
    wakeControl()
  }
}
