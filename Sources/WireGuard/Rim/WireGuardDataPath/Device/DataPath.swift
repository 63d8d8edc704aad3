internal import CWireGuardIO
internal import Glibc
package import LinuxIO
internal import NetworkTypes
internal import Synchronization
package import WireGuardControl
package import WireGuardEngine

/// The threads that carry packets between the queues of a TUN device and UDP sockets, and the state that they share with the control
/// thread.
///
/// There is a pair of threads for each queue, one per direction. Between packets they share only the engine's sections. At first only one
/// pair works; others take over queues when it is busy (`Duties`). All sleep in the kernel while there is no traffic.
package final class DataPath: @unchecked Sendable {
  // Sound: all else is constants, atomics and locks. `threads` belongs to the control thread.
  package let engine: Engine
  package let tun: TunDevice
  package let offloads: Offloads
  /// Of each pair of threads.
  let sockets: [SocketNumbers]
  let outboundDuties: Duties
  let inboundDuties: Duties
  package let turns: ControlTurns
  /// The target length of a thread's turn, in nanoseconds. A packet that arrives while other threads compute must not wait for their whole
  /// turns.
  static let turn: UInt32 = 100_000
  /// The memory of threads without traffic for so long is the kernel's again; milliseconds.
  static let idleTime: Int32 = 60_000
  /// Becomes readable, permanently, when the threads are to end.
  let stopping: Int32
  private let gone = Atomic<Bool>(false)
  private var threads: [pthread_t] = []

  /// Creates the path with the wanted offloads of the device and of the sockets. It has no sockets yet.
  package init(_ engine: Engine, _ tun: TunDevice, wanting wanted: Offloads) throws(SystemError) {
    self.engine = engine
    self.tun = tun
    var offloads = tun.offloads
    offloads.formUnion(wanted.intersection([.socketSegmentation, .socketJoining]))
    self.offloads = offloads
    stopping = cwg_event()
    // Until there are sockets, descriptors to which nothing can be sent.
    sockets = tun.queues.map { _ in SocketNumbers(v4: cwg_event(), v6: cwg_event()) }
    guard stopping >= 0, sockets.allSatisfy({ $0.v4 >= 0 && $0.v6 >= 0 }) else { throw .last("eventfd") }
    turns = try ControlTurns(
      engine, mtu: Int(max(0, cwg_get_mtu(tun.name))), sockets[0], segments: offloads.contains(.socketSegmentation))
    outboundDuties = try Duties(tun.queues.count, stopping: stopping)
    inboundDuties = try Duties(tun.queues.count, stopping: stopping)
    for (i, queue) in tun.queues.enumerated() {
      guard outboundDuties.watch(queue.number, 0, of: i, isNew: true, { true }) else { throw .last("watch the TUN device") }
    }
  }

  /// The number of pairs of threads, at least one.
  package var pairCount: Int { sockets.count }

  deinit {
    for number in [stopping] + sockets.flatMap({ [$0.v4, $0.v6] }) { close(number) }
  }

  /// True if the TUN device has been deleted.
  package var isDeviceGone: Bool { gone.load(ordering: .acquiring) }

  /// The names of the threads of a pair.
  static func threadNames(_ number: Int) -> (outbound: String, inbound: String) {
    number == 0 ? ("tun to udp", "udp to tun") : ("tun to udp \(number)", "udp to tun \(number)")
  }

  package func start() throws(SystemError) { try start(on: ReadyThreads()) }

  /// Starts all threads, or uses those that wait. They are created before the process is confined, which cannot create any; those without
  /// queues sleep.
  func start(on ready: ReadyThreads) throws(SystemError) {
    for number in 0..<pairCount {
      let names = Self.threadNames(number)
      threads.append(try ready.begin(names.outbound) { Outbound.serve(self, number) })
      threads.append(try ready.begin(names.inbound) { Inbound.serve(self, number) })
    }
  }

  /// Yields the processor after each batch. A computing thread otherwise keeps it until the next tick, four milliseconds, even if its turns
  /// are short. With the yield, the other direction, or the other end on the same machine, waits for one batch only.
  @inline(__always)
  static func letOthersWork() { sched_yield() }

  /// Stops all threads and waits for them.
  package func stop() {
    cwg_event_raise(stopping)
    for thread in threads { pthread_join(thread, nil) }
    threads = []
  }

  /// Replaces the current sockets by these. Call it after `start`, from the control thread.
  package func use(_ new: TunnelSockets) throws(SystemError) {
    for i in 0..<pairCount {
      let pair = i < new.pairs.count ? new.pairs[i] : nil
      try put(pair?.v4, 0, of: i, in: sockets[i].v4)
      try put(pair?.v6, 1, of: i, in: sockets[i].v6)
    }
  }

  private func put(_ socket: FileDescriptor?, _ place: Int, of queue: Int, in number: Int32) throws(SystemError) {
    if let socket, offloads.contains(.socketJoining) { _ = cwg_udp_set_gro(socket.number, 1) }
    // A family that is missing: again a descriptor to which nothing can be sent.
    let new = socket ?? FileDescriptor(owning: cwg_event())
    guard
      inboundDuties.watch(
        number, place, of: queue, isNew: socket != nil, { withExtendedLifetime(new) { cwg_replace(new.number, number) == 0 } })
    else {
      throw .last("use a socket")
    }
  }

  func deviceIsGone() {
    gone.store(true, ordering: .releasing)
    turns.wakeThread()
  }
}
