internal import CWireGuardIO
internal import Glibc
package import LinuxIO
internal import NetworkTypes
internal import Synchronization
package import WireGuardControl
package import WireGuardEngine

/// The two threads that carry packets between a TUN device and UDP sockets, and what they share with the thread that controls them.
///
/// Between packets nothing is shared but the engine's sections. Both threads sleep in the kernel while nothing comes.
package final class DataPath: @unchecked Sendable {
  // Sound: constants, atomics and locks; `staged` is used inside the engine's sending section alone; `inboundPoller` is written before the
  // threads begin; `threads` is the control thread's alone.
  package let engine: Engine
  package let tun: TunDevice
  package let offloads: Offloads
  let sockets: SocketNumbers
  let handshakes = HandshakeQueue()
  var staged = StagedPackets()
  var inboundPoller: Int32 = -1
  /// Nanoseconds for which a thread wants to work at a time: a packet that comes while others compute is not to wait for their whole turns.
  static let turn: UInt32 = 100_000
  /// Readable for good when the threads are to end.
  let stopping: Int32
  /// Readable when the control thread has something to look at.
  package let control: Int32
  private let innerMTU: Atomic<Int>
  private let gone = Atomic<Bool>(false)
  private let rests = Atomic<Bool>(false)
  private var threads: [pthread_t] = []

  /// With the device's offloads and those of the sockets that are wanted. Has no sockets yet.
  package init(_ engine: Engine, _ tun: TunDevice, wanting wanted: Offloads) throws(SystemError) {
    self.engine = engine
    self.tun = tun
    var offloads = tun.offloads
    offloads.formUnion(wanted.intersection([.socketSegmentation, .socketJoining]))
    self.offloads = offloads
    innerMTU = Atomic(Int(max(0, cwg_get_mtu(tun.name))))
    stopping = cwg_event()
    control = cwg_event()
    // Until there are sockets, something that nothing can be sent to.
    sockets = SocketNumbers(v4: cwg_event(), v6: cwg_event())
    guard stopping >= 0, control >= 0, sockets.v4 >= 0, sockets.v6 >= 0 else { throw .last("eventfd") }
  }

  deinit {
    for number in [stopping, control, sockets.v4, sockets.v6] { close(number) }
  }

  /// Of the inner device; 0 where it is not known.
  package var mtu: Int {
    get { innerMTU.load(ordering: .relaxed) }
    set { innerMTU.store(newValue, ordering: .relaxed) }
  }

  /// Whether the TUN device has been deleted.
  package var isDeviceGone: Bool { gone.load(ordering: .acquiring) }

  /// Begins both threads.
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

  /// After each batch. A thread that computes has its processor until the next tick, four milliseconds, however short the turns are that it
  /// wants: with this the other direction, or the other end on the same machine, waits for a batch.
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

  /// Ends both threads, and waits for them.
  package func stop() {
    cwg_event_raise(stopping)
    for thread in threads { pthread_join(thread, nil) }
    threads = []
  }

  /// Puts these sockets into the place of those that there are. To be called after `start`, from the control thread.
  package func use(_ new: TunnelSockets) throws(SystemError) {
    try put(new.v4, in: sockets.v4, identity: 0)
    try put(new.v6, in: sockets.v6, identity: 1)
  }

  private func put(_ socket: FileDescriptor?, in place: Int32, identity: UInt32) throws(SystemError) {
    guard let socket else {
      // A family that is missing: again something that nothing can be sent to.
      let nothing = FileDescriptor(owning: cwg_event())
      guard cwg_replace(nothing.number, place) == 0 else { throw .last("put a socket away") }
      return
    }
    if offloads.contains(.socketJoining) { _ = cwg_udp_set_gro(socket.number, 1) }
    // The poller forgets the old socket with its last descriptor.
    guard cwg_replace(socket.number, place) == 0, cwg_poller_add(inboundPoller, place, identity) == 0 else {
      throw .last("use a socket")
    }
  }

  /// The control thread has set itself a time to look at everything: it is not to be woken before. In one order with `Engine.hasPending`,
  /// so that either it sees what is left to do, or who left that sees that it has to be woken.
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
